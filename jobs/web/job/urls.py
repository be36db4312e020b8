"""Addresses of the page of one job."""

from django.urls import path

from jobs.web.job import actions, views

JOB = "jobs/<uuid:job_id>"

urlpatterns = [
    path(JOB, views.overview, name="job"),
    path(f"{JOB}/nodes", views.nodes, name="job-nodes"),
    path(f"{JOB}/logs", views.logs, name="job-logs"),
    path(f"{JOB}/logs/row/<str:row>", views.log_row, name="job-log-row"),
    path(f"{JOB}/metrics", views.metrics, name="job-metrics"),
    path(f"{JOB}/metrics/series", views.series, name="job-series"),
    path(f"{JOB}/metrics/points", views.points, name="job-points"),
    path(f"{JOB}/events", views.events, name="job-events"),
    path(f"{JOB}/manifest", views.manifest, name="job-manifest"),
    path(f"{JOB}/parts/<slug:name>", views.part, name="job-part"),
    path(f"{JOB}/suspend", actions.suspend, name="job-suspend"),
    path(f"{JOB}/resume", actions.resume, name="job-resume"),
    path(f"{JOB}/retry", actions.retry, name="job-retry"),
    path(f"{JOB}/keep", actions.keep, name="job-keep"),
    path(f"{JOB}/release", actions.release, name="job-release"),
    path(f"{JOB}/cancel", actions.cancel, name="job-cancel"),
    path(f"{JOB}/delete", actions.delete, name="job-delete"),
]
