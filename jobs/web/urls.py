"""Addresses of the pages about jobs."""

from django.urls import include, path

from jobs.web import cluster, compare, listing, listing_bulk, queue, removed, submit, submit_manifest

urlpatterns = [
    path("", listing.index, name="home"),
    path("jobs", listing.index, name="jobs"),
    path("jobs/bulk", listing_bulk.bulk, name="jobs-bulk"),
    path("jobs/removed", removed.removed, name="jobs-removed"),
    path("cluster", cluster.cluster, name="cluster"),
    path("queue", queue.queue, name="queue"),
    path("compare", compare.compare, name="compare"),
    path("jobs/recent", listing.recent, name="jobs-recent"),
    path("jobs/row/<uuid:job_id>", listing.row, name="job-row"),
    path("submit", submit.start, name="submit"),
    path("submit/manifest", submit_manifest.with_manifest, name="submit-manifest"),
    path("submit/with/<str:name>", submit.with_blueprint, name="submit-with"),
    path("submit/with/<str:namespace>/<str:name>", submit.with_blueprint, name="submit-with"),
    path("", include("jobs.web.job.urls")),
]
