"""Templates that name static files need no collected ones here."""

import pytest


@pytest.fixture(autouse=True)
def _settings(settings) -> None:
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
