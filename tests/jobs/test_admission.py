"""What comes in by kubectl meets the validator of forms and REST before it is stored."""

import json
import os
import signal
import subprocess

import httpx
import pytest
import yaml

from tests.jobs.tools import FOREVER, act, objects, pods
from tests.stack import Json, Stack, kubectl_path, wait_for

pytestmark = pytest.mark.each_cluster("stack2")

SUBMIT = """
from jobs import services
from trainui.accounts.models import Project, User
manifest = {manifest!r}
job, _ = services.submit(User.objects.get(username="alice"), Project.objects.get(name="team-a"), services.Submission(manifest))
print(job.pk)
"""


@pytest.fixture(autouse=True)
def namespace(stack: Stack) -> None:
    """Have the project's namespace, which else comes with its first submission."""
    stack.kubectl("create", "namespace", stack.project, check=False)


def trainjob(name: str, script: str = FOREVER, **spec: object) -> Json:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {
            "runtimeRef": {"name": "plain-command"},
            "trainer": {"command": ["/bin/sh", "-ec", script], "resourcesPerNode": {"requests": {"cpu": "100m"}}},
            **spec,
        },
    }


def patches(selector: Json, job: str = "node") -> list[Json]:
    pod = {"template": {"spec": {"template": {"spec": selector}}}}
    spec = {"replicatedJobs": [{"name": job, **pod}]}
    return [{"manager": "acme.example/mgr", "trainingRuntimeSpec": {"template": {"spec": spec}}}]


def kubectl(stack: Stack, *arguments: str, obj: Json | None = None) -> tuple[int, str]:
    """Run kubectl and return its exit code and what it printed to stderr."""
    done = subprocess.run(
        [kubectl_path(), *arguments],
        env=stack.kube_environment(),
        input=yaml.safe_dump(obj) if obj else "",
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return done.returncode, done.stderr


def create(stack: Stack, obj: Json) -> tuple[int, str]:
    return kubectl(stack, "create", "-f", "-", obj=obj)


def names(stack: Stack) -> set[str]:
    return {job["metadata"]["name"] for job in objects(stack, "trainjobs")}


def test_what_a_form_refuses_kubectl_cannot_create(stack: Stack) -> None:
    unknown = trainjob("adm-runtime", runtimeRef={"name": "no-such-runtime"})
    patched = trainjob("adm-patch", runtimePatches=patches({"nodeSelector": {"a": "b"}}, job="no-such-job"))
    for obj, said in ((unknown, "spec.runtimeRef"), (patched, "spec.runtimePatches[0]")):
        code, error = create(stack, obj)
        assert code != 0
        assert said in error
    assert not {"adm-runtime", "adm-patch"} & names(stack)


def test_what_only_forms_refuse_is_a_warning_and_ends_with_its_reason(stack: Stack) -> None:
    name = "adm-" + "n" * 56
    code, error = create(stack, trainjob(name))
    assert code == 0
    assert "Warning: metadata.name" in error

    def failed() -> bool:
        status = next(j for j in objects(stack, "trainjobs") if j["metadata"]["name"] == name).get("status") or {}
        found = [c for c in status.get("conditions") or [] if (c["type"], c["status"]) == ("Failed", "True")]
        return bool(found and found[0]["reason"])

    wait_for(failed, 90, "the job to be Failed")
    kubectl(stack, "delete", "trainjob", name, "-n", "team-a")


def test_patches_change_only_while_the_job_stands_still_and_are_stamped(stack: Stack) -> None:
    job = stack.submit(FOREVER, name="adm-still", nodes=1)
    stack.wait(job["id"], "Running")
    change = json.dumps({"spec": {"runtimePatches": patches({"terminationGracePeriodSeconds": 1})}})
    patch = ("patch", "trainjob", "adm-still", "-n", "team-a", "--type=merge", "-p", change)
    code, error = kubectl(stack, *patch)
    assert code != 0
    assert "spec.runtimePatches" in error
    act(stack, job["id"], "suspend")
    stack.wait(job["id"], "Suspended")
    assert kubectl(stack, *patch)[0] == 0
    stored = next(j for j in objects(stack, "trainjobs") if j["metadata"]["name"] == "adm-still")
    assert stored["spec"]["runtimePatches"][0]["time"]
    act(stack, job["id"], "resume")
    stack.wait(job["id"], "Running")
    [pod] = pods(stack, "adm-still")
    assert pod["spec"]["terminationGracePeriodSeconds"] == 1
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


@pytest.mark.only_local("on Kubernetes a process of its own answers the webhook")
def test_while_web_is_down_others_wait_and_our_own_submissions_arrive(stack: Stack) -> None:
    [web] = stack.pids("uvicorn trainui.asgi")
    os.kill(web, signal.SIGSTOP)
    try:
        code, error = create(stack, trainjob("adm-unseen"))
        assert code != 0
        assert "failed calling webhook" in error
        made = stack.shell(SUBMIT.format(manifest=trainjob("adm-ours", "echo done"))).strip()
        wait_for(lambda: "adm-ours" in names(stack), 90, "our submission to arrive")
    finally:
        os.kill(web, signal.SIGCONT)
    assert stack.wait(made)["phase"] == "Succeeded"
    assert "adm-unseen" not in names(stack)


def test_the_address_is_for_the_api_server_only(stack: Stack) -> None:
    body = {"request": {"uid": "1", "kind": {"group": "trainer.kubeflow.org", "kind": "TrainJob"}}}
    for path in ("/admission/x/rules", "/admission/x/defaults", "/admission/", "/admission/rules"):
        assert httpx.post(f"{stack.url}{path}", json=body).status_code == 404
