"""Addresses of the jobs room."""

from django.urls import path

from portal.jobs import views

urlpatterns = [
    path("jobs", views.jobs, name="jobs"),
    path("jobs/new", views.submit, name="submit"),
    path("jobs/<int:number>", views.job, name="job"),
    path("jobs/<int:number>/cancel", views.cancel, name="job-cancel"),
    path("jobs/<int:number>/stream", views.stream, name="job-stream"),
    path("jobs/<int:number>/log.txt", views.log_text, name="job-log"),
    path("queue", views.queue, name="queue"),
]
