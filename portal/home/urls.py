"""Addresses of the home room."""

from django.urls import path

from portal.home import views

urlpatterns = [
    path("", views.home, name="home"),
    path("sections", views.sections, name="sections"),
    path("healthz", views.alive, name="alive"),
]
