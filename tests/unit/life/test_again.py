"""Retry and clone: a new job, linked to the one it comes from."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jobs import services
from jobs.models import TrainJob
from jobs.services import Submission
from jobs.services.again import retry_name
from jobs.spec.names import name_budget
from jobs.state import phases
from tests.unit.life.conftest import RUNTIME, World
from trainui.audit.models import AuditEntry
from trainui.problems import Problem

OVER = [phases.FAILED, phases.CANCELLED, phases.LOST]


@pytest.mark.parametrize("phase", OVER)
def test_a_job_that_did_not_end_well_runs_again_as_it_was(world: World, phase: str) -> None:
    job = world.job(phase=phase, detail={"parameters": {"lr": "0.1"}})
    made, there = services.retry(world.users["mate"], job)
    assert not there
    assert (made.name, made.origin, made.origin_relation, made.origin_name) == ("llama-retry-1", job, "retry", "llama")
    assert (made.owner, made.project, made.phase, made.uid) == (world.users["mate"], job.project, phases.CREATING, None)
    assert made.detail.parameters == {"lr": "0.1"}
    manifest = made.detail.manifest
    assert manifest["metadata"]["name"] == "llama-retry-1"
    assert manifest["metadata"]["labels"] == {"team": "nlp"}
    assert manifest["metadata"]["annotations"]["trainui.dev/submission-id"] == str(made.pk)
    assert manifest["spec"]["trainer"] == job.detail.manifest["spec"]["trainer"]  # with its secrets: it is to run
    entry = AuditEntry.objects.get(verb="job.retry")
    assert (entry.actor, entry.object_id, entry.detail["origin"]) == (
        world.users["mate"],
        str(made.pk),
        "team-nlp/llama",
    )


@pytest.mark.parametrize("phase", sorted(set(phases.PHASES) - set(OVER)))
def test_other_jobs_are_not_retried(world: World, phase: str) -> None:
    with pytest.raises(Problem, match="clone it instead") as caught:
        services.retry(world.users["owner"], world.job(phase=phase))
    assert caught.value.status == 409
    assert TrainJob.objects.count() == 1


@pytest.mark.parametrize(("who", "error"), [("viewer", PermissionDenied), ("stranger", Http404)])
def test_who_may_not_submit_may_not_retry(world: World, who: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        services.retry(world.users[who], world.job(phase=phases.FAILED))


def test_one_key_is_one_retry_and_the_next_press_is_the_next(world: World) -> None:
    job, user = world.job(phase=phases.FAILED), world.users["owner"]
    key = services.retry_key(job)
    first, there = services.retry(user, job, key)
    again, there_now = services.retry(user, job, key)
    assert (first, there, there_now) == (again, False, True)
    second, there = services.retry(user, job, services.retry_key(job))
    assert (second.name, there) == ("llama-retry-2", False)


def test_a_retry_of_a_retry_counts_on(world: World) -> None:
    job = world.job(phase=phases.FAILED)
    made, _ = services.retry(world.users["owner"], job)
    TrainJob.objects.filter(pk=made.pk).update(phase=phases.LOST)
    made.refresh_from_db()
    second, _ = services.retry(world.users["owner"], made)
    assert (second.name, second.origin) == ("llama-retry-2", made)


def test_numbers_of_jobs_that_are_gone_are_not_used_again(world: World) -> None:
    job = world.job(phase=phases.FAILED)
    world.job("llama-retry-7", phases.FAILED, live=False)
    world.job("llama-retry-x", phases.FAILED)
    assert retry_name(job, job.detail.manifest) == "llama-retry-8"


def test_long_names_are_cut_so_that_pod_names_fit(world: World) -> None:
    room = name_budget(RUNTIME, 1).max_length
    job = world.job("a" * (room - 3) + "-zz", phases.FAILED)
    names = []
    for _ in range(3):
        made, _there = services.retry(world.users["owner"], job)
        names.append(made.name)
        assert len(made.name) <= room
    assert [name.rpartition("-")[2] for name in names] == ["1", "2", "3"]
    assert len({name.rpartition("-")[0] for name in names}) == 1


def test_a_job_made_outside_is_retried_without_what_its_cluster_added(world: World) -> None:
    manifest: dict[str, Any] = world.manifest("llama")
    manifest["metadata"] |= {"uid": "u-1", "resourceVersion": "7", "managedFields": [{}], "finalizers": ["x"]}
    manifest["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team/x": "y"}
    job = world.job(phase=phases.FAILED, manifest=manifest)
    made, _ = services.retry(world.users["owner"], job)
    metadata = made.detail.manifest["metadata"]
    assert set(metadata) == {"name", "namespace", "labels", "annotations"}
    assert "team/x" in metadata["annotations"]
    assert not any("last-applied" in name for name in metadata["annotations"])


def test_what_the_runtime_no_longer_allows_is_said_and_nothing_is_stored(world: World) -> None:
    job = world.job(phase=phases.FAILED)
    job.detail.manifest["spec"]["runtimeRef"]["name"] = "gone"
    with pytest.raises(Problem) as caught:
        services.retry(world.users["owner"], job)
    assert caught.value.status == 422
    assert TrainJob.objects.count() == 1


def test_a_clone_is_linked_and_its_link_outlives_the_origin(world: World) -> None:
    origin = world.job("first", phases.SUCCEEDED)
    made, _ = services.submit(world.users["owner"], world.project, Submission(world.manifest("second"), origin=origin))
    assert (made.origin, made.origin_relation) == (origin, "clone")
    assert AuditEntry.objects.get(object_id=str(made.pk)).verb == "job.clone"
    origin.delete()
    made.refresh_from_db()
    assert (made.origin, made.origin_name) == (None, "first")


def test_bulk_tells_of_each_job_how_it_fared(world: World) -> None:
    failed, running = world.job("a", phases.FAILED), world.job("b")
    results = services.bulk(world.users["owner"], "retry", [failed, running])
    assert [(r.job.name, r.status, r.code) for r in results] == [
        ("a-retry-1", 202, ""),
        ("b", 409, "not_in_this_phase"),
    ]
    results = services.bulk(world.users["mate"], "cancel", [running])
    assert [(r.status, r.code) for r in results] == [(403, "forbidden")]
    with pytest.raises(Problem, match="is no action"):
        services.bulk(world.users["owner"], "explode", [running])


@pytest.mark.parametrize(("who", "may"), [("owner", True), ("chief", True), ("mate", False), ("viewer", False)])
def test_owner_and_admins_choose_what_is_kept(world: World, who: str, may: bool) -> None:
    job = world.job(phase=phases.SUCCEEDED)
    if not may:
        with pytest.raises(PermissionDenied):
            services.keep(world.users[who], job)
        return
    assert services.keep(world.users[who], job).kept
    services.keep(world.users[who], job)
    assert not services.keep(world.users[who], job, kept=False).kept
    assert list(AuditEntry.objects.order_by("id").values_list("verb", flat=True)) == ["job.keep", "job.release"]
