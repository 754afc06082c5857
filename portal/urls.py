"""Every address of the portal, by room."""

from django.urls import include, path

from portal.api import api

urlpatterns = [
    path("api/v1/", api.urls),
    path("", include("portal.home.urls")),
    path("", include("portal.accounts.urls")),
    path("", include("portal.quotas.urls")),
    path("", include("portal.jobs.urls")),
    path("", include("portal.cycle.urls")),
    path("", include("portal.cluster.urls")),
]
