"""Addresses that exist only with DEBUG."""

from django.urls import path

from trainui.ui import views

urlpatterns = [path("styleguide", views.styleguide, name="styleguide")]
