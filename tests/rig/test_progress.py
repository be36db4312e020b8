"""Progress reports of pods: the tokens that a real cluster makes, and a program that reports with its own."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from jobs.models import MirrorObject, TrainJob, TrainJobDetail
from jobs.reconcile.desired import progress_of
from tests.rig.api import wait_until
from tests.rig.rig import Rig
from tests.stack import Stack, wait_for
from trainui.accounts.models import Project
from trainui.cluster import kinds

pytestmark = pytest.mark.xdist_group("rig")
REPORT = {"trainerStatus": {"progressPercentage": 10, "lastUpdatedTime": "2026-03-01T12:00:00Z"}}
# As `update_trainjob_status` of Kubeflow's SDK does it.
PROGRAM = """
python3 - <<'PROGRAM'
import json, os, urllib.request
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read().strip()
status = {"progressPercentage": 42, "lastUpdatedTime": "2026-03-01T12:00:00Z", "metrics": [{"name": "loss", "value": "0.5"}]}
request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps({"trainerStatus": status}).encode(),
    {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
print("answer", urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30).status)
PROGRAM
"""


def pending(rig: Rig, namespace: str, name: str) -> dict[str, Any]:
    """Make a pod that no machine takes: it is there, and may have tokens."""
    container = {"name": "node", "image": "none"}
    spec = {"nodeSelector": {"no": "machine"}, "containers": [container]}
    return rig.admin.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}, namespace)


def token_of(rig: Rig, namespace: str, audience: str, pod: dict[str, Any] | None = None) -> str:
    """Ask for a token as kubelet does for a projected volume."""
    spec: dict[str, Any] = {"audiences": [audience], "expirationSeconds": 3600}
    if pod:
        metadata = pod["metadata"]
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    return str(rig.admin.request("POST", path, request)["status"]["token"])


@pytest.mark.django_db
def test_only_pods_of_the_job_may_report(rig: Rig, rig_namespace: str, settings: Any) -> None:
    settings.KUBECONFIG, settings.POD_DNS = str(rig.kubeconfig("trainui-web")), True
    cache.clear()
    job = TrainJob.objects.create(
        project=Project.objects.create(name=rig_namespace), namespace=rig_namespace, name="llama",
        runtime_kind="ClusterTrainingRuntime", runtime_name="plain", created_at=timezone.now(),
    )  # fmt: skip
    TrainJobDetail.objects.create(job=job, manifest={})
    own, other = pending(rig, rig_namespace, "own"), pending(rig, rig_namespace, "other")
    MirrorObject.objects.create(
        kind=kinds.POD.key, namespace=rig_namespace, name="own", uid=own["metadata"]["uid"], resource_version="1", raw={}, job=job,
        seen_at=timezone.now(),
    )  # fmt: skip
    audience = progress_of(job).audience

    def report(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return Client().post(
            f"/progress/{job.pk}/status", REPORT, content_type="application/json", headers=headers
        ).status_code  # fmt: skip

    good = token_of(rig, rig_namespace, audience, own)
    assert report(good) == 200
    assert report(token_of(rig, rig_namespace, audience, other)) == 403
    assert report(token_of(rig, rig_namespace, audience)) == 403
    assert report(token_of(rig, rig_namespace, "https://kubernetes.default.svc.cluster.local", own)) == 403
    assert report(rig.token("admin")) == 403
    rig.admin.request("DELETE", f"/api/v1/namespaces/{rig_namespace}/pods/own", gracePeriodSeconds="0")
    wait_until(lambda: rig.admin.get("v1", "Pod", rig_namespace, "own") is None, "the pod to go")
    cache.clear()
    # The API server remembers for some seconds whose token it was.
    wait_for(lambda: report(good) == 403 or bool(cache.clear()), 60, "the token of a pod that is gone to be void")


@pytest.mark.only_kubernetes
def test_a_program_reports_with_the_token_of_its_pod(stack: Stack) -> None:
    job = stack.submit(PROGRAM, name="reports")
    done = stack.wait(job["id"], seconds=180)
    assert done["phase"] == "Succeeded", done["reason"]
    assert "answer 200" in stack.wait_log(job["id"], "answer")
    assert stack.job(job["id"])["progress"]["percent"] == 42
