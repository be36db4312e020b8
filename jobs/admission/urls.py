"""Addresses of the admission webhook."""

from django.urls import path

from jobs.admission import views

urlpatterns = [path("<str:token>/<str:what>", views.review)]
