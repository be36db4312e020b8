"""Addresses of the pages about jobs."""

from django.urls import include, path

urlpatterns = [
    path("", include("jobs.web.job.urls")),
]
