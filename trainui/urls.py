"""All addresses. Pages of an app live in its `web`, REST in its `api`."""

from django.conf import settings
from django.urls import include, path

from trainui import health

handler400 = "trainui.problems.bad_request"
handler403 = "trainui.problems.permission_denied"
handler404 = "trainui.problems.not_found"
handler500 = "trainui.problems.server_error"

urlpatterns = [
    path("livez", health.livez),
    path("readyz", health.readyz),
    path("", include("trainui.accounts.urls")),
    path("", include("runtimes.web.urls")),
    path("", include("jobs.web.urls")),
    path("api/v1/", include("trainui.api_urls")),
    path("progress/", include("jobs.progress.urls")),
    path("admission/", include("jobs.admission.urls")),
]
if settings.DEBUG:
    urlpatterns.append(path("", include("trainui.ui.urls")))
