"""Addresses of the accounts room."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
