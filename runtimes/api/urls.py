"""REST addresses of the catalog and of projects, below /api/v1/."""

from django.urls import path

from runtimes.api import views

urlpatterns = [
    path("runtimes", views.Runtimes.as_view(), name="api-runtimes"),
    path("runtimes/<str:name>", views.RuntimeView.as_view(), name="api-runtime"),
    path("projects", views.Projects.as_view(), name="api-projects"),
]
