"""Addresses of the cluster room."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
