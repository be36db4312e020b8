"""A clock that is set forward or back: nothing waits for the difference. The time is an argument everywhere here, as no test sets a clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.models import TrainJob, TrainJobDetail
from jobs.reconcile import children, tasks
from jobs.reconcile.lease import JOB_LEASE, Leadership, job_lease
from jobs.reconcile.mirror import Mirror
from jobs.reconcile.stalled import silence
from jobs.state import observe
from jobs.state.phases import FINISHED
from trainui.accounts.models import Project

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
CHILD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "llama-x", "namespace": "team-nlp"}}
KEY = "/ConfigMap/llama-x"


def stored(**columns: Any) -> TrainJob:
    project, _ = Project.objects.get_or_create(name="team-nlp")
    values = {"created_at": NOW - HOUR, "reconciled_at": NOW - HOUR} | columns
    job = TrainJob.objects.create(
        project=project, namespace="team-nlp", name=f"llama-{TrainJob.objects.count()}", runtime_kind="ClusterTrainingRuntime", runtime_name="plain",
        **values,
    )  # fmt: skip
    TrainJobDetail.objects.create(job=job, manifest={})
    return job


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("until", "free"),
    [
        (None, True),
        (NOW - SECOND, True),
        (NOW + SECOND, False),
        (NOW + JOB_LEASE + SECOND, False),  # taken by a machine whose clock is a little ahead
        (NOW + HOUR, True),  # taken before the clock was set back
    ],
)
def test_a_lease_holds_as_long_as_leases_may_last(until: datetime | None, free: bool) -> None:
    job = stored(lease_until=until)
    with job_lease(job.pk, NOW) as token:
        assert (token is not None) is free


@pytest.mark.django_db
@pytest.mark.parametrize(("later", "taken"), [(SECOND, False), (HOUR, True), (-SECOND, False), (-HOUR, True)])
def test_the_lead_passes_on_when_its_time_means_nothing(later: timedelta, taken: bool) -> None:
    assert Leadership("watch").renew(NOW)
    assert Leadership("watch").renew(NOW + later) is taken


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("columns", "rung"),
    [
        ({"due_at": NOW}, True),
        ({"due_at": NOW + HOUR}, False),
        ({"due_at": NOW + HOUR, "reconciled_at": NOW + HOUR}, True),  # both were written before the clock was set back
        ({"due_at": NOW + HOUR, "reconciled_at": None, "created_at": NOW + HOUR}, True),
        ({"due_at": None, "reconciled_at": NOW + HOUR}, False),
        ({"due_at": NOW, "lease_until": NOW + SECOND}, False),
        ({"due_at": NOW, "lease_until": NOW + HOUR}, True),
    ],
)
def test_the_sweep_finds_what_is_due(columns: dict[str, Any], rung: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    job, found = stored(**columns), list[Any]()
    monkeypatch.setattr(tasks, "ring", found.append)
    monkeypatch.setattr(tasks.timezone, "now", lambda: NOW)
    tasks.sweep()
    assert found == ([job.pk] if rung else [])


@pytest.mark.parametrize(("now", "again"), [(NOW + SECOND, False), (NOW + HOUR, True), (NOW - HOUR, True)])
def test_a_child_that_watch_never_showed_is_applied_again(now: datetime, again: bool) -> None:
    applied = {KEY: children.entry(CHILD, CHILD | {"metadata": {"resourceVersion": "7"}}, NOW)}
    todo = children.plan([CHILD], Mirror(), applied, "uid", now)
    assert [children.key_of(obj) for obj in todo.apply] == ([KEY] if again else [])
    assert todo.recheck_at is None or todo.recheck_at <= now + children.UNSEEN_GRACE


@pytest.mark.parametrize("step", [-HOUR, -SECOND, SECOND])
def test_no_silence_is_longer_than_its_limit(step: timedelta) -> None:
    found = silence([NOW], NOW + step, HOUR)
    assert found.since is None
    assert found.recheck_at is not None
    assert found.recheck_at <= NOW + step + HOUR + SECOND


@pytest.mark.parametrize("step", [timedelta(days=-400), -HOUR, HOUR, timedelta(days=400)])
def test_a_state_is_judged_the_same_whatever_the_clock_says(step: timedelta) -> None:
    record = {
        "uid": "uid", "name": "llama", "namespace": "team-nlp", "submission_id": "1", "phase": "Running", "code": "Running", "since": NOW.isoformat(),
        "accepted_at": NOW.isoformat(), "scheduled_at": NOW.isoformat(), "started_at": NOW.isoformat(), "runtime_exists": True,
        "expected": [{"replicated_job": "node", "count": 1, "role": "trainer", "runs_ranks": True}],
    }  # fmt: skip
    trainjob = {
        "metadata": {"name": "llama", "namespace": "team-nlp", "uid": "uid", "creationTimestamp": NOW.isoformat()},
        "spec": {"runtimeRef": {"name": "plain"}},
    }
    state = observe({"record": record, "trainjob": trainjob, "jobset": None, "pods": []}, NOW + step)
    assert state.phase not in FINISHED
