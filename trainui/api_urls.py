"""REST under /api/v1: each app brings its own addresses."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

urlpatterns = [
    path("", include("runtimes.api.urls")),
    path("", include("jobs.api.urls")),
    path("schema", SpectacularAPIView.as_view(), name="api-schema"),
    # Split: its script has an address of its own, which the Content-Security-Policy lets in; the other view's stands in the page.
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
]
