"""Addresses of the cluster room."""

from django.urls import path

from portal.cluster import views

urlpatterns = [
    path("cluster", views.cluster, name="cluster"),
    path("cluster/<slug:name>", views.node, name="node"),
    path("cluster/<slug:name>/drain", views.drain, name="node-drain"),
    path("cluster/<slug:name>/resume", views.resume, name="node-resume"),
    path("cluster/<slug:name>/lost", views.lose, name="node-lost"),
    path("cluster/<slug:name>/out", views.put_out, name="node-out"),
    path("cluster/<slug:name>/approve", views.approve, name="node-approve"),
]
