"""Addresses of the cycle's room: the pages of the policy."""

from django.urls import path

from portal.cycle import views

urlpatterns = [
    path("policy", views.policy_page, name="policy"),
    path("policy/change", views.change, name="policy-change"),
    path("policy/<int:number>", views.version_page, name="policy-version"),
    path("policy/<int:number>/restore", views.restore, name="policy-restore"),
]
