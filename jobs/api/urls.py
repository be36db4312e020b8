"""REST addresses of TrainJobs, below /api/v1/."""

from django.urls import path

from jobs.api import actions, cluster, compare, log_stream, logs, queue, views

JOB = "trainjobs/<uuid:job_id>"

urlpatterns = [
    path("trainjobs", views.TrainJobs.as_view(), name="api-trainjobs"),
    path("cluster", cluster.ClusterView.as_view(), name="api-cluster"),
    path("queues", queue.QueuesView.as_view(), name="api-queues"),
    path("metrics", compare.Compare.as_view(), name="api-compare"),
    path("trainjobs/bulk", actions.Bulk.as_view(), name="api-bulk"),
    path("trainjobs/removed", actions.Removed.as_view(), name="api-removed"),
    path(JOB, views.TrainJobView.as_view(), name="api-trainjob"),
    path(f"{JOB}/retry", actions.Retry.as_view(), name="api-retry"),
    path(f"{JOB}/keep", actions.Keep.as_view(), name="api-keep"),
    path(f"{JOB}/release", actions.Release.as_view(), name="api-release"),
    path(f"{JOB}/suspend", views.Suspend.as_view(), name="api-suspend"),
    path(f"{JOB}/resume", views.Resume.as_view(), name="api-resume"),
    path(f"{JOB}/cancel", views.Cancel.as_view(), name="api-cancel"),
    path(f"{JOB}/nodes", views.Nodes.as_view(), name="api-nodes"),
    path(f"{JOB}/events", views.Events.as_view(), name="api-events"),
    path(f"{JOB}/metrics", views.Metrics.as_view(), name="api-metrics"),
    path(f"{JOB}/manifest", views.Manifest.as_view(), name="api-manifest"),
    path(f"{JOB}/origins", views.Origins.as_view(), name="api-origins"),
    path(f"{JOB}/artifacts", views.Artifacts.as_view(), name="api-artifacts"),
    path(f"{JOB}/artifacts/<path:name>", logs.ArtifactFile.as_view(), name="api-artifact"),
    path(f"{JOB}/logs", logs.Logs.as_view(), name="api-logs"),
    path(f"{JOB}/logs/rows", logs.Rows.as_view(), name="api-log-rows"),
    path(f"{JOB}/logs/tail", logs.Tail.as_view(), name="api-log-tail"),
    path(f"{JOB}/logs/rows/<int:stream>/<int:row>", logs.FullRow.as_view(), name="api-log-row"),
    path(f"{JOB}/logs/search", logs.Search.as_view(), name="api-log-search"),
    path(f"{JOB}/logs/text", logs.Text.as_view(), name="api-log-text"),
    path(f"{JOB}/logs/download", logs.Download.as_view(), name="api-log-download"),
    path(f"{JOB}/logs/stream", log_stream.log_events, name="api-log-stream"),
]
