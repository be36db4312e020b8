"""A gang that is too large for its scheduler is taken, with a warning: in the dry run, by REST as by the form."""

from typing import Any

from django.utils import timezone

from jobs.models import WatchState
from jobs.services import Submission, dry_run
from runtimes.models import Runtime
from tests.unit.life.conftest import RUNTIME, World
from trainui.cluster import kinds


def warnings(world: World, nodes: int) -> list[str]:
    manifest = world.manifest("large")
    manifest["metadata"]["annotations"] = {"trainui.dev/gang-scheduler": "in-tree"}
    manifest["spec"]["trainer"] = {"numNodes": nodes}
    return [f.code for f in dry_run(world.users["owner"], world.project, Submission(manifest)).findings.warnings]


def test_a_gang_too_large_for_its_scheduler(world: World, settings: Any) -> None:
    Runtime.objects.filter(name="plain").update(observed=RUNTIME)
    now = timezone.now()
    WatchState.objects.create(kind=kinds.POD_GROUP.key, listed_at=now, alive_at=now)
    settings.POD_DNS = True
    assert "gang_too_large" in warnings(world, 2_001)
    assert "gang_too_large" not in warnings(world, 2_000)
    settings.POD_DNS = False
    assert "gang_too_large" not in warnings(world, 2_001)
