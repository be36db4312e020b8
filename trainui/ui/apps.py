"""The design system: template tags, components and the partial-or-page decision."""

from django.apps import AppConfig


class UiConfig(AppConfig):
    """Registers the template tags; the application has no models."""

    name = "trainui.ui"
    label = "ui"
