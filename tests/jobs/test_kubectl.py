"""kubectl and REST are two doors to the same jobs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.jobs.tools import FOREVER, Follower, act, objects, pods, row, rows, submissions
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack")

TRAINJOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  runtimeRef: {{name: plain-command}}
  trainer:
    numNodes: 2
    command: [/bin/sh, -ec, {script}]
"""


def export(stack: Stack, job_id: str) -> Json:
    with stack.client() as client:
        answer = client.get(f"/api/v1/trainjobs/{job_id}/manifest", headers={"Accept": "application/yaml"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/yaml")
    return dict(yaml.safe_load(answer.text))


def apply(stack: Stack, manifest: Json | str) -> str:
    text = manifest if isinstance(manifest, str) else yaml.safe_dump(manifest)
    return stack.kubectl("apply", "-f", "-", stdin=text).strip()


@pytest.fixture
def following(stack: Stack, tmp_path: Path) -> Iterator[object]:
    started: list[Follower] = []

    def follow(*arguments: str) -> Follower:
        started.append(Follower(stack, tmp_path / f"kubectl-{len(started)}", *arguments, "-n", stack.project))
        return started[-1]

    yield follow
    for follower in started:
        follower.end()


def test_an_exported_job_applies_back_unchanged(stack: Stack) -> None:
    job = stack.submit("echo exported", name="exported", nodes=2)
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    manifest = export(stack, job["id"])
    assert "status" not in manifest
    assert "uid" not in manifest["metadata"]
    (before,) = [t for t in objects(stack, "trainjobs") if t["metadata"]["name"] == "exported"]
    apply(stack, manifest)  # the first time kubectl adds its own annotation
    assert apply(stack, manifest) == "trainjob.trainer.kubeflow.org/exported unchanged"
    (after,) = [t for t in objects(stack, "trainjobs") if t["metadata"]["name"] == "exported"]
    for field in ("uid", "generation"):
        assert after["metadata"][field] == before["metadata"][field]
    assert after["spec"] == before["spec"]
    assert submissions(stack, job["id"]) == ["exported"]
    assert [r["id"] for r in rows(stack, q="exported")] == [job["id"]]
    assert stack.job(job["id"])["phase"] == "Succeeded"


def test_an_exported_job_applied_under_another_name_is_a_job_of_its_own(stack: Stack) -> None:
    job = stack.submit('echo "node $JOB_COMPLETION_INDEX"', name="original", nodes=2)
    manifest = export(stack, job["id"])
    manifest["metadata"]["name"] = "copied"
    assert apply(stack, manifest) == "trainjob.trainer.kubeflow.org/copied created"
    wait_for(lambda: row(stack, "copied") is not None, 90, "the copy's row")
    copy = row(stack, "copied")
    assert copy is not None
    assert (copy["owner"], copy["id"] != job["id"]) == (None, True)
    for job_id in (copy["id"], job["id"]):
        assert stack.wait(job_id)["phase"] == "Succeeded"
        stack.wait_log(job_id, "node 1")
    assert [r["id"] for r in rows(stack, q="original")] == [job["id"]]


def test_kubectl_follows_a_job_and_its_deletion_is_seen(stack: Stack, following) -> None:  # type: ignore[no-untyped-def]
    watch = following("get", "trainjobs", "-w")
    job = stack.submit(f"echo words of node $JOB_COMPLETION_INDEX; {FOREVER}", name="watched", nodes=2)
    stack.wait(job["id"], "Running")
    watch.await_text("watched")
    name = pods(stack, "watched")[0]["metadata"]["name"]
    following("logs", "-f", name).await_text("begun")
    assert "words of node" in stack.kubectl("logs", name, "-n", stack.project)
    assert "watched" in stack.kubectl("describe", "trainjob", "watched", "-n", stack.project)
    stack.kubectl("delete", "trainjob", "watched", "-n", stack.project)
    lost = stack.wait(job["id"])
    assert (lost["phase"], lost["reason"]["code"], lost["in_cluster"]) == ("Lost", "DeletedExternally", False)
    assert "words of node 1" in stack.wait_log(job["id"], "words of node 1")
    wait_for(lambda: not pods(stack, "watched"), 90, "its pods to be gone")


def test_suspended_and_resumed_by_kubectl(stack: Stack) -> None:
    def patch(suspend: bool) -> None:
        text = json.dumps({"spec": {"suspend": suspend}})
        stack.kubectl("patch", "trainjob", "patched", "-n", stack.project, "--type=merge", "-p", text)

    job = stack.submit(FOREVER, name="patched")
    stack.wait(job["id"], "Running")
    patch(True)
    suspended = stack.wait(job["id"], "Suspended")
    assert suspended["actions"] == ["resume", "cancel", "delete", "clone"]
    assert export(stack, job["id"])["spec"]["suspend"] is True
    patch(False)
    stack.wait(job["id"], "Running")
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_a_job_made_by_kubectl_gets_a_row_and_runs(stack: Stack) -> None:
    apply(stack, TRAINJOB.format(name="foreign", namespace=stack.project, script='"echo node $JOB_COMPLETION_INDEX"'))
    wait_for(lambda: row(stack, "foreign") is not None, 90, "the row")
    found = row(stack, "foreign")
    assert found is not None
    assert found["owner"] is None
    assert stack.wait(found["id"])["phase"] == "Succeeded"
    stack.wait_log(found["id"], "node 1")
    with stack.client("carol") as admin:  # nobody owns it: a project admin may remove it
        assert admin.delete(f"/api/v1/trainjobs/{found['id']}").status_code == 202
    wait_for(lambda: row(stack, "foreign") is None, 90, "the row to go")
    assert "foreign" not in stack.kubectl("get", "trainjobs", "-n", stack.project)


def test_a_name_that_kubectl_took_first_is_refused_and_that_job_runs(stack: Stack) -> None:
    """Both names come at the same moment: whichever wins, the other says so, and none runs twice."""
    apply(stack, TRAINJOB.format(name="contested", namespace=stack.project, script='"echo by kubectl"'))
    with stack.client() as client:
        body = {
            "project": stack.project,
            "blueprint": "plain-command",
            "name": "contested",
            "parameters": {"script": "echo by rest"},
        }
        answer = client.post("/api/v1/trainjobs", json=body)
    if answer.status_code == 201:  # the mirror did not know yet
        refused = stack.wait(answer.json()["id"], "Failed")
        assert refused["reason"]["code"] == "Refused"
        assert "another TrainJob" in refused["reason"]["sentence"]
    else:
        assert answer.json()["code"] == "name_taken"

    def kubectls() -> list[str]:
        return [r["phase"] for r in rows(stack, q="contested") if r["owner"] is None]

    wait_for(lambda: kubectls() == ["Succeeded"], 90, "kubectl's job to succeed")
    assert submissions(stack, str(answer.json().get("id"))) == []


def test_a_namespace_that_is_no_project_is_left_alone(stack: Stack) -> None:
    stack.kubectl("create", "namespace", "elsewhere")
    apply(stack, TRAINJOB.format(name="stray", namespace="elsewhere", script='"true"'))
    marker = stack.submit("true")  # what came after the stray has been seen when this has ended
    stack.wait(marker["id"])
    with stack.client("admin") as admin:
        assert admin.get("/api/v1/trainjobs", params={"q": "stray"}).json()["items"] == []
    (stray,) = objects(stack, "trainjobs", namespace="elsewhere")
    assert "status" not in stray or not stray["status"]
    assert objects(stack, "jobsets", namespace="elsewhere") == []
    stack.kubectl("delete", "namespace", "elsewhere")
