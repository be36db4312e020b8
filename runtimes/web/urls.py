"""Addresses of the catalog. `-` is no name of a runtime, so nothing can hide behind it."""

from django.urls import path

from runtimes.web import views

urlpatterns = [
    path("runtimes", views.index, name="runtimes"),
    path("runtimes/<str:name>", views.detail, name="runtime"),
    path("runtimes/<str:name>/-/restore", views.restore, name="runtime-restore"),
    path("runtimes/<str:namespace>/<str:name>", views.detail, name="runtime"),
]
