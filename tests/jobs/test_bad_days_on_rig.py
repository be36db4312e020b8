"""Bad days of a real Kubernetes: rights, quotas, webhooks of others, a namespace that ends. The job says what is wrong, and goes on when it is right again."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.jobs.policy_server import questions_of_the_api_server
from tests.jobs.tools import act, objects, submissions, submit_trainjob, wait_said
from tests.rig.api import Refused, wait_until
from tests.rig.instance import USER
from tests.rig.manifests import jobset, pod_template
from tests.rig.rig import Rig
from tests.stack import Json, Stack

pytestmark = pytest.mark.only_kubernetes
JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
POLICY = "policy.tests.trainui.dev"
_PROJECTS_NEEDED = 5
_PROJECTS = """
from trainui.accounts.models import Membership, Project, User
for name in {names!r}:
    project = Project.objects.create(name=name)
    Membership.objects.create(project=project, user=User.objects.get(username="alice"), role="engineer")
"""


@pytest.fixture(scope="module")
def projects(rig: Rig, stack: Stack) -> list[str]:
    """Projects of alice that no test has used yet: their namespaces have bad days."""
    names = [f"bad-day-{os.urandom(3).hex()}" for _ in range(_PROJECTS_NEEDED)]
    rig.provoked.update(names)
    stack.shell(_PROJECTS.format(names=names))
    return names


@pytest.fixture
def project(rig: Rig, projects: list[str]) -> Iterator[str]:
    """The name of a project, and of its namespace, of this test alone."""
    with rig.namespace(projects.pop()) as name:
        yield name


@pytest.fixture
def other_project(rig: Rig, projects: list[str]) -> Iterator[str]:
    """Another one."""
    with rig.namespace(projects.pop()) as name:
        yield name


def submit(stack: Stack, project: str, name: str, script: str = "true", cpu: str = "10m", nodes: int = 1) -> Json:
    """Submit a small job, which the real machine runs."""
    trainer = {
        "command": ["/bin/sh", "-ec", script],
        "numNodes": nodes,
        "resourcesPerNode": {"requests": {"cpu": cpu, "memory": "16Mi"}},
    }
    return submit_trainjob(stack, name, [], project=project, trainer=trainer)


def state(job: Json) -> tuple[str, str]:
    return job["phase"], job["reason"]["code"]


def ended_well(stack: Stack, job: Json) -> None:
    assert stack.wait(job["id"], seconds=60)["phase"] == "Succeeded"


@contextmanager
def without(rig: Rig, verb: str, resource: str) -> Iterator[None]:
    """Take a verb on a resource from trainui's account for a block."""
    role = rig.admin.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "trainui")
    assert role is not None
    fewer = [
        rule | {"verbs": [kept for kept in rule["verbs"] if kept != verb or resource not in rule["resources"]]}
        for rule in role["rules"]
    ]
    assert fewer != role["rules"]
    group = next(rule["apiGroups"][0] for rule in role["rules"] if resource in rule["resources"])
    try:
        rig.admin.patch(role, {"rules": fewer})
        wait_until(lambda: not may(rig, verb, group, resource), f"nobody to {verb} {resource}")
        yield
    finally:
        rig.admin.patch(role, {"rules": role["rules"]})


def may(rig: Rig, verb: str, group: str, resource: str) -> bool:
    """Whether the API server lets trainui's account do it."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return bool(rig.api(USER).request("POST", path, review)["status"]["allowed"])


def test_a_right_that_is_missing_is_named_and_the_job_goes_on_with_it(rig: Rig, stack: Stack, project: str) -> None:
    with without(rig, "create", "jobsets"):
        job = submit(stack, project, "not-allowed")
        waits = wait_said(stack, job["id"], "the verb create on jobsets.jobset.x-k8s.io", "administrator", "deploy/")
        assert state(waits) == ("Misconfigured", "CreateFailed")
    ended_well(stack, job)


def test_a_quota_is_named_with_its_amounts_and_the_job_starts_when_it_is_raised(
    rig: Rig, stack: Stack, project: str
) -> None:
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": project},
        "spec": {"hard": {"requests.cpu": "50m"}},
    }
    rig.admin.create(quota)

    def counted() -> bool:
        found = rig.admin.get("v1", "ResourceQuota", project, "small") or {}
        return bool(found.get("status", {}).get("used"))

    wait_until(counted, "the quota to count")
    job = submit(stack, project, "too-much", cpu="30m", nodes=2)
    waits = wait_said(stack, job["id"], "quota small")
    assert state(waits) == ("Waiting", "NamespaceQuotaExceeded")
    assert "1 of 2 nodes" in waits["reason"]["sentence"]
    # 30m of 50m are used by the first node.
    assert "requests.cpu needs 30m and 20m of 50m are free" in waits["reason"]["sentence"]
    rig.admin.patch(quota, {"spec": {"hard": {"requests.cpu": "60m"}}})
    ended_well(stack, job)


@contextmanager
def policy(rig: Rig, folder: Path, project: str, answer: Callable[[int], Json] | None) -> Iterator[list[Json]]:
    """Have somebody's webhook judge new JobSets of a project; gives the questions that it was asked. Without an answer it never gives one."""
    with questions_of_the_api_server(folder, answer) as (client_config, asked):
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": f"{project}-policy"},
            "webhooks": [webhook(project) | {"clientConfig": client_config}],
        }
        rig.admin.create(configuration)
        try:
            wait_until(lambda: POLICY in refusal(rig, project), "the API server to ask the webhook")
            asked.clear()
            yield asked
        finally:
            rig.admin.delete(configuration)


def webhook(project: str) -> Json:
    group, _, version = JOBSET[0].partition("/")
    new = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": ["jobsets"]}
    return {
        "name": POLICY,
        "rules": [new],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": project}},
        "failurePolicy": "Fail",
        "timeoutSeconds": 1,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


def refusal(rig: Rig, project: str) -> str:
    """Return why a JobSet cannot be made now, or nothing."""
    try:
        rig.admin.request("POST", rig.admin.path(*JOBSET, project), jobset("x", 1, pod_template("any")), dryRun="All")
    except Refused as refused:
        return str(refused)
    return ""


def test_webhooks_of_others_that_deny_or_hang_are_named_until_they_are_gone(
    rig: Rig, stack: Stack, project: str, other_project: str, tmp_path: Path
) -> None:
    def deny(number: int) -> Json:  # in other words each time
        return {"allowed": False, "status": {"code": 403, "message": f"no jobs before noon (question {number})"}}

    began = time.monotonic()
    with (
        policy(rig, tmp_path / "denies", project, deny) as denied,
        policy(rig, tmp_path / "hangs", other_project, None) as unanswered,
    ):
        first, second = submit(stack, project, "denied"), submit(stack, other_project, "unanswered")
        waits = wait_said(stack, first["id"], f'"{POLICY}" denied the request', "no jobs before noon (question ")
        assert state(waits) == ("Misconfigured", "CreateFailed")
        waits = wait_said(stack, second["id"], f'failed calling webhook "{POLICY}"', "administrator")
        assert state(waits) == ("Misconfigured", "CreateFailed")
        assert {question["name"] for question in unanswered} == {"unanswered"}
    # Once a second at most, but for what rings when a job is new.
    assert len(denied) <= 4 + time.monotonic() - began
    ended_well(stack, first)
    ended_well(stack, second)


def test_a_namespace_that_ends_takes_no_job_and_keeps_none(rig: Rig, stack: Stack, project: str) -> None:
    holds = {"name": "holds", "namespace": project, "finalizers": ["tests.trainui.dev/hold"]}
    hold: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": holds}
    rig.admin.create(hold)
    before = rig.admin.request("DELETE", f"/api/v1/namespaces/{project}")["metadata"]["uid"]
    try:
        job, withdrawn = submit(stack, project, "patient"), submit(stack, project, "withdrawn")
        waits = wait_said(stack, job["id"], f"in namespace {project} because it is being terminated")
        assert state(waits) == ("Creating", "AwaitingCluster")
        assert "The namespace is being deleted: wait until it is gone, or use another project" in sentence(waits)
        wait_said(stack, withdrawn["id"], "is being terminated")
        act(stack, withdrawn["id"], "cancel")
        cancelled = stack.wait(withdrawn["id"])
        assert (cancelled["phase"], "nothing was created" in sentence(cancelled)) == ("Cancelled", True)
        check_calls(rig, project, job)
    finally:
        rig.admin.patch(hold, {"metadata": {"finalizers": None}})
    ended_well(stack, job)
    assert rig.admin.request("GET", f"/api/v1/namespaces/{project}")["metadata"]["uid"] != before
    assert submissions(stack, job["id"], project) == ["patient"]
    kinds = ("trainjobs", "jobsets", "jobs", "podgroups", "pods")
    left = {obj["metadata"]["name"] for kind in kinds for obj in objects(stack, kind, namespace=project)}
    assert {name.partition("-")[0] for name in left} == {"patient"}


def sentence(job: Json) -> str:
    return str(job["reason"]["sentence"])


def check_calls(rig: Rig, project: str, job: Json) -> None:
    """A try is one question, and whether an earlier one was heard after all; it comes once a second at most, later ever less often."""
    calls = [call for call in rig.calls(USER) if call.namespace == project]
    asked = {(call.verb, call.resource, call.code) for call in calls}
    assert asked == {("create", "trainjobs", 403), ("get", "trainjobs", 404)}
    age = datetime.now(UTC) - datetime.fromisoformat(job["created_at"].replace("Z", "+00:00"))
    assert sum(1 for call in calls if call.verb == "create") <= 2 * (2 + age.total_seconds())  # of two jobs
