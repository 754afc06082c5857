"""Addresses of the quotas room: the pages of teams."""

from django.urls import path

from portal.quotas import views

urlpatterns = [
    path("teams/new", views.new, name="team-new"),
    path("teams/<slug:name>", views.page, name="team"),
    path("teams/<slug:name>/parent", views.parent, name="team-parent"),
    path("teams/<slug:name>/quotas", views.quotas, name="team-quotas"),
    path("teams/<slug:name>/surplus", views.surplus, name="team-surplus"),
    path("teams/<slug:name>/members", views.members, name="team-members"),
]
