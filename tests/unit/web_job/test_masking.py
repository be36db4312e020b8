"""No secret value on any tab, wherever it was put."""

import pytest

from jobs.spec.masking import MASK
from jobs.state import phases
from jobs.state.model import Cause, GangState
from tests.unit.web_job.conftest import HTMX, SECRET, event, manifest, state_in

PAGES = ("", "/nodes", "/logs", "/metrics", "/events", "/manifest")
ENV = [
    {"name": "HF_TOKEN", "value": "plain-words-only"},
    {"name": "DB_PASSWORD", "value": "correct-horse"},
    {"name": "WANDB_API_KEY", "value": "battery-staple"},
    {"name": "NOTE", "value": f"see {SECRET}"},
    {"name": "MAX_TOKENS", "value": "4096"},
    {"name": "FROM_SECRET", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "hf"}}},
]
HIDDEN = ("plain-words-only", "correct-horse", "battery-staple", SECRET, "c2VjcmV0", "argument-secret")


@pytest.fixture
def job(world):
    given = manifest(ENV, command=["python", "train.py", "--api-key", "argument-secret"])
    pod = {"name": "node", "env": ENV, "args": ["--token=argument-secret"]}
    children = [
        {"kind": "Secret", "metadata": {"name": "keys"}, "data": {"id_rsa": "c2VjcmV0"}},
        {"kind": "JobSet", "metadata": {"name": "job"}, "spec": {"containers": [pod]}},
    ]
    state = state_in(phases.FAILED)
    cause = Cause(1, "pod-1", "node", "node", 1, "Error", f"401 for {SECRET}")
    gang = GangState("in-tree", 2, ("node",), "job", 2, 0, f"waits, says {SECRET}")
    said = {"cause": cause, "gang": gang, "sentence": f"Failed: {SECRET} was refused."}
    made = world.job(state=state.__class__(**{**state.__dict__, **said}), manifest=given, objects=children)
    made.detail.trainer_status = {"metrics": [{"name": "note", "value": SECRET}]}
    made.detail.save()
    event(made, "Failed", f"pull with {SECRET} was refused", "Warning")
    return made


@pytest.mark.parametrize("page", PAGES)
def test_no_secret_on_a_tab(job, as_user, page):
    html = as_user("owner").get(f"/jobs/{job.pk}{page}").content.decode()
    assert [value for value in HIDDEN if value in html] == []


@pytest.mark.parametrize("path", ["", "/events", "/nodes", "/manifest", "/metrics"])
def test_no_secret_in_an_answer(job, as_user, path):
    answer = as_user("owner").get(f"/api/v1/trainjobs/{job.pk}{path}")
    assert answer.status_code == 200
    assert [value for value in HIDDEN if value in answer.content.decode()] == []


@pytest.mark.parametrize("path", ["/jobs", "/api/v1/trainjobs", "/jobs/recent"])
def test_no_secret_in_a_list(job, as_user, path):
    html = as_user("owner").get(path, headers={} if path.startswith("/api") else HTMX).content.decode()
    assert job.name in html
    assert [value for value in HIDDEN if value in html] == []


def test_the_overview_says_that_something_is_hidden(job, as_user):
    html = as_user("owner").get(f"/jobs/{job.pk}/parts/config", headers=HTMX).content.decode()
    assert MASK in html
    assert "look like secrets" in html
    assert "4096" in html
    assert "secretKeyRef keys/hf" in html


def test_the_export_names_what_it_omits(job, as_user):
    html = as_user("owner").get(f"/jobs/{job.pk}/manifest").content.decode()
    assert "Secrets are left out." in html
    assert "spec.trainer.env[0].value" in html
    assert "MAX_TOKENS" in html
    assert "belongs to the one submission" not in html


def test_nothing_is_said_where_nothing_is_hidden(world, as_user):
    job = world.job()
    assert "look like secrets" not in as_user("owner").get(f"/jobs/{job.pk}").content.decode()
    assert "Secrets are left out." not in as_user("owner").get(f"/jobs/{job.pk}/manifest").content.decode()
