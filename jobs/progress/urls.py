"""Addresses that pods call with their job's token."""

from django.urls import path

from jobs.progress import views

urlpatterns = [
    path("<uuid:job_id>/status", views.status),
    path("<uuid:job_id>/artifacts/<path:name>", views.artifact),
]
