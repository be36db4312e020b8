"""A worker may remove a record at any moment after its deletion was asked for: also before that is answered, and before the next action."""

from typing import Any

import pytest
from django.test import Client

from jobs import services
from jobs.models import TrainJob
from jobs.reconcile.retire import purge
from jobs.state import phases
from tests.unit.life.conftest import World
from trainui.problems import Problem


def test_a_deletion_that_is_carried_out_at_once_is_answered(
    world: World, as_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.job(phase=phases.CREATING)

    def quick_worker(row: TrainJob) -> None:
        purge(TrainJob.objects.select_related("project", "owner").get(pk=row.pk), phases.CANCELLED)

    monkeypatch.setattr("jobs.services.actions.ring_on_commit", quick_worker)
    client: Client = as_user("owner")
    answer = client.delete(f"/api/v1/trainjobs/{job.pk}")
    assert answer.status_code == 202, answer.content
    assert answer.json()["id"] == str(job.pk)
    assert not TrainJob.objects.exists()
    assert client.delete(f"/api/v1/trainjobs/{job.pk}").status_code == 404


@pytest.mark.parametrize("action", ["suspend", "resume", "cancel", "delete", "keep"])
def test_an_action_on_a_record_that_was_removed_is_a_404(world: World, action: str) -> None:
    job = world.job()
    TrainJob.objects.filter(pk=job.pk).delete()
    with pytest.raises(Problem) as caught:
        getattr(services, action)(world.users["owner"], job)
    assert caught.value.status == 404
    assert [result.status for result in services.bulk(world.users["owner"], action, [job])] == [404]
