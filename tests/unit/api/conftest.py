"""The world of the tests of REST, in a folder of its own."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.world import World, make_world


@pytest.fixture
def world(db: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    settings.LOGS_DIR, settings.ARTIFACTS_DIR = tmp_path / "logs", tmp_path / "artifacts"
    settings.WHITENOISE_AUTOREFRESH = True  # else it reads all collected files once per client
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
    for place in ("trainui.events.changes", "jobs.progress.artifacts"):  # there is no broker
        monkeypatch.setattr(f"{place}.publish", lambda *told: None)
    return make_world(tmp_path)
