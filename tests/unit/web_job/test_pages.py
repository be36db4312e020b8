"""Every page for every persona; what each shows without JavaScript."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Artifact, WatchState
from jobs.state import phases
from jobs.state.model import NodeState
from tests.unit.web_job.conftest import archive, event, sample, state_in
from trainui.accounts.models import Project

PAGES = ("", "/nodes", "/logs", "/metrics", "/events", "/manifest")
READS = (*PAGES, "/metrics/series", "/metrics/points", "/parts/head", "/parts/state", "/logs/row/1.0")
POSTS = ("/suspend", "/resume", "/cancel", "/delete")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("persona", ["admin", "owner", "viewer", "colleague"])
def test_members_see_every_tab(world, as_user, page, persona):
    job = world.job()
    answer = as_user(persona).get(f"/jobs/{job.pk}{page}")
    assert answer.status_code == 200
    assert job.name in answer.content.decode()
    assert f'data-topics="{job.pk}"' in answer.content.decode()


@pytest.mark.parametrize("page", READS)
def test_strangers_and_nobody_learn_nothing(world, as_user, page):
    job = world.job()
    missing = as_user("stranger").get(f"/jobs/{uuid.uuid4()}{page}")
    answer = as_user("stranger").get(f"/jobs/{job.pk}{page}")
    assert (answer.status_code, missing.status_code) == (404, 404)
    assert job.name not in answer.content.decode()
    away = as_user("nobody").get(f"/jobs/{job.pk}{page}")
    assert away.status_code == 302
    assert away["Location"].startswith("/sign-in")


@pytest.mark.parametrize("path", POSTS)
def test_strangers_cannot_act(world, as_user, path):
    job = world.job()
    assert as_user("stranger").post(f"/jobs/{job.pk}{path}").status_code == 404
    assert as_user("viewer").post(f"/jobs/{job.pk}{path}").status_code == 403
    job.refresh_from_db()
    assert (job.desired_suspend, job.cancel_requested_at, job.delete_requested_at) == (None, None, None)


@pytest.mark.parametrize("page", READS)
def test_pages_are_read_only(world, as_user, page):
    assert as_user("owner").post(f"/jobs/{world.job().pk}{page}").status_code == 405


@pytest.mark.parametrize("phase", sorted(phases.PHASES))
@pytest.mark.parametrize("page", PAGES)
def test_every_phase_has_every_tab(world, as_user, phase, page):
    page_of = as_user("owner").get(f"/jobs/{world.job(phase).pk}{page}")
    assert page_of.status_code == 200
    assert f"The sentence of {phase}." in page_of.content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_a_job_that_was_only_just_accepted(world, as_user, page):
    job = world.job(phases.CREATING, uid=None, pushed_at=None, observed_at=None, runtime=None)
    job.detail.state = {}
    job.detail.save()
    assert as_user("owner").get(f"/jobs/{job.pk}{page}").status_code == 200


def test_the_cause_of_a_failure_leads_to_its_log(world, as_user):
    job = world.job(phases.FAILED)
    archive(job, 1, ["step 7", "out of memory"])
    html = as_user("viewer").get(f"/jobs/{job.pk}").content.decode()
    for word in ("What failed first", "rank 1", "137", "OOMKilled", "out of memory in step 7", "gpu-1"):
        assert word in html
    assert f'href="/jobs/{job.pk}/logs?rank=1"' in html


def test_a_failure_without_a_log_offers_none(world, as_user):
    html = as_user("viewer").get(f"/jobs/{world.job(phases.FAILED).pk}").content.decode()
    assert "Read its log" not in html


def test_the_gang_says_what_it_waits_for(world, as_user):
    html = as_user("viewer").get(f"/jobs/{world.job(phases.WAITING).pk}").content.decode()
    for word in (
        "0 of 2 nodes have a machine yet.",
        "2 must run together",
        "in-tree",
        "job-group",
        "2 waiting",
        "Rank 1",
    ):
        assert word in html


def test_nodes_are_paged(world, as_user):
    job = world.job(nodes=450)
    client = as_user("viewer")
    first, last = (client.get(f"/jobs/{job.pk}/nodes?from={start}").content.decode() for start in (0, 400))
    assert "1–200 of 450" in first
    assert "Rank 199<" in first
    assert "Rank 200<" not in first
    assert "401–450 of 450" in last
    assert "?from=200" in last
    assert client.get(f"/jobs/{job.pk}/nodes?from=999999").status_code == 200


def test_artifacts_are_offered(world, as_user):
    job = world.job(phases.SUCCEEDED)
    Artifact.objects.create(
        job=job, name="deep/model.npz", size=2048, sha256="ab" * 32, path="x", created_at=timezone.now()
    )
    html = as_user("viewer").get(f"/jobs/{job.pk}").content.decode()
    assert f'href="/api/v1/trainjobs/{job.pk}/artifacts/deep/model.npz"' in html


def test_a_job_that_left_the_cluster_is_all_there(world, as_user):
    gone = state_in(phases.CANCELLED)
    job = world.job(
        phases.CANCELLED, live=False, state=gone, cancel_requested_at=timezone.now(), cancel_reason="wrong data"
    )
    job.cancel_requested_by = world.users["colleague"]
    job.save()
    archive(job, 0, ["the last words"])
    event(job, "Killing", "Stopping container node")
    client = as_user("viewer")
    head = client.get(f"/jobs/{job.pk}").content.decode()
    assert "archived" in head
    assert "colleague" in head
    assert "wrong data" in head
    assert "the last words" in client.get(f"/jobs/{job.pk}/logs").content.decode()
    assert "Killing" in client.get(f"/jobs/{job.pk}/events").content.decode()
    nodes = client.get(f"/jobs/{job.pk}/nodes").content.decode()
    assert "pod-0" in nodes
    assert "Ended" in nodes


@pytest.mark.parametrize(
    ("alive", "problem", "words"),
    [
        (5, "", "last change"),
        (500, "", "Not up to date"),
        (5, "the cluster refused the token", "the cluster refused the token"),
    ],
)
def test_the_age_of_the_data_is_said(world, as_user, alive, problem, words):
    WatchState.objects.update(alive_at=timezone.now() - timedelta(seconds=alive), problem=problem)
    assert words in as_user("viewer").get(f"/jobs/{world.job().pk}").content.decode()


@pytest.mark.parametrize(
    ("phase", "columns", "words"),
    [
        (phases.RUNNING, {"progress_percent": 40, "eta_seconds": 600}, "About 10 min left"),
        (phases.RUNNING, {"progress_percent": 40, "eta_seconds": 600, "eta_estimated": True}, "left, estimated"),
        (phases.RUNNING, {"progress_percent": 40, "eta_seconds": 20}, "Less than a minute left"),
        (phases.RUNNING, {"progress_percent": 40, "eta_seconds": 7 * 3600}, "About 7 h left"),
        (phases.SUCCEEDED, {"progress_percent": 95}, "100 %"),
        (phases.FAILED, {"progress_percent": 31}, "31 %"),
        (phases.SUSPENDED, {"progress_percent": 31}, "Last reported"),
    ],
)
def test_progress(world, as_user, phase, columns, words):
    job = world.job(phase, progress_at=timezone.now(), **columns)
    assert words in as_user("viewer").get(f"/jobs/{job.pk}").content.decode()


def test_no_progress_bar_without_a_report(world, as_user):
    assert "<progress" not in as_user("viewer").get(f"/jobs/{world.job().pk}").content.decode()


def test_differences_are_named_on_the_local_cluster_only(world, as_user, settings):
    job = world.job(port=31234)
    settings.POD_DNS = False
    assert "31234" in as_user("viewer").get(f"/jobs/{job.pk}").content.decode()
    settings.POD_DNS = True
    assert "How that differs" not in as_user("viewer").get(f"/jobs/{job.pk}").content.decode()


def test_text_of_the_cluster_is_never_markup(world, as_user):
    state = state_in(phases.RUNNING)
    evil = '<script>alert("x")</script>'
    nodes = (
        NodeState(0, "node", "trainer", 0, 0, name=evil, machine=evil, reason=evil, message=evil),
        *state.nodes[1:],
    )
    job = world.job(
        state=state.__class__(**{**state.__dict__, "nodes": nodes, "sentence": evil}), name="evil", cancel_reason=evil
    )
    archive(job, 0, [evil], pod="pod-e")
    event(job, evil, evil)
    sample(job, evil, [1.0, 2.0])
    for page in PAGES:
        assert evil not in as_user("viewer").get(f"/jobs/{job.pk}{page}").content.decode()


def test_the_policy_finds_nothing_inline(world, as_user):
    from tests.unit.ui.test_templates import forbidden

    job = world.job(phases.FAILED)
    archive(job, 0, ["\x1b[38;2;1;2;3mcolour\x1b[0m"])
    sample(job, "loss", [3.0, 1.0])
    for page in PAGES:
        assert forbidden(as_user("owner").get(f"/jobs/{job.pk}{page}").content.decode()) == []


def test_a_job_that_gives_no_sign_of_life(world, as_user):
    job = world.job(stalled_since=timezone.now() - timedelta(minutes=30))
    assert "No sign of life" in as_user("viewer").get(f"/jobs/{job.pk}").content.decode()


def test_where_a_job_comes_from_is_a_link_for_those_who_may_follow_it(world, as_user):
    first = world.job()
    again = world.job(origin=first, origin_relation="retry", origin_name="first")
    html = as_user("viewer").get(f"/jobs/{again.pk}").content.decode()
    assert "Again from" in html
    assert f'<a href="/jobs/{first.pk}">first</a>' in html
    first.project = Project.objects.get(name="elsewhere")
    first.save()
    html = as_user("viewer").get(f"/jobs/{again.pk}").content.decode()
    assert f"/jobs/{first.pk}" not in html
    assert "first" in html
