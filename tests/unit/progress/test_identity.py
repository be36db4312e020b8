"""Who may report progress where the cluster makes tokens for pods. A stand-in answers TokenReviews; tests/rig asks a real API server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from jobs.models import MirrorObject, TrainJob, TrainJobDetail
from jobs.reconcile.desired import progress_of, progress_token
from trainui.accounts.models import Project
from trainui.cluster import kinds

AUDIENCE = "trainer.kubeflow.org/v1alpha1/namespaces/team-nlp/trainjobs/llama/status"
REPORT = {"trainerStatus": {"progressPercentage": 10, "lastUpdatedTime": "2026-03-01T12:00:00Z"}}
pytestmark = pytest.mark.django_db


class Reviewer:
    """Answers TokenReviews: `users` by token, for one audience each."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.audience: list[str] = [AUDIENCE]
        self.down = False
        self.asked: list[dict[str, Any]] = []
        reviewer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = reviewer.answer(self.path, body)
                data = orjson.dumps(answer)
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        assert path.partition("?")[0] == "/apis/authentication.k8s.io/v1/tokenreviews"
        self.asked.append(body["spec"])
        if self.down:
            return 403, {"kind": "Status", "code": 403, "message": "tokenreviews is forbidden"}
        user = self.users.get(body["spec"]["token"])
        wanted = [a for a in body["spec"]["audiences"] if a in self.audience]
        status = (
            {"authenticated": True, "audiences": wanted, "user": user} if user and wanted else {"authenticated": False}
        )
        return 201, body | {"status": status}


@pytest.fixture
def reviewer(settings: Any, tmp_path: Path) -> Iterator[Reviewer]:
    made = Reviewer()
    config = {
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{made.server.server_port}"}}],
        "users": [{"name": "x", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_bytes(orjson.dumps(config))
    settings.KUBECONFIG, settings.POD_DNS = str(path), True
    cache.clear()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def job() -> TrainJob:
    project = Project.objects.create(name="team-nlp")
    row = TrainJob.objects.create(
        project=project, namespace="team-nlp", name="llama", runtime_kind="ClusterTrainingRuntime", runtime_name="plain",
        created_at=timezone.now(),
    )  # fmt: skip
    TrainJobDetail.objects.create(job=row, manifest={})
    MirrorObject.objects.create(
        kind=kinds.POD.key, namespace="team-nlp", name="llama-node-0", uid="pod-1", resource_version="1", raw={}, job=row, seen_at=timezone.now()
    )  # fmt: skip
    return row


def user(pod: str = "pod-1", namespace: str = "team-nlp") -> dict[str, Any]:
    extra = {"authentication.kubernetes.io/pod-name": ["llama-node-0"], "authentication.kubernetes.io/pod-uid": [pod]}
    return {"username": f"system:serviceaccount:{namespace}:default", "extra": extra}


def report(job: TrainJob, token: str, path: str = "status") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return Client().post(
        f"/progress/{job.pk}/{path}", REPORT, content_type="application/json", headers=headers
    ).status_code  # fmt: skip


def test_the_pod_of_a_job_may_report(reviewer: Reviewer, job: TrainJob) -> None:
    reviewer.users["good"] = user()
    assert report(job, "good") == 200
    assert TrainJobDetail.objects.get(pk=job.pk).trainer_status["progressPercentage"] == 10
    assert reviewer.asked == [{"token": "good", "audiences": [progress_of(job).audience]}]
    assert report(job, "good") == 200
    assert len(reviewer.asked) == 1  # the cluster is not asked at every report


@pytest.mark.parametrize(
    "who",
    [
        user(pod="pod-of-another-job"),
        user(namespace="elsewhere"),
        {"username": "system:serviceaccount:team-nlp:default", "extra": {}},  # made by `kubectl create token`
        {"username": "alice", "extra": user()["extra"]},
        None,
    ],
)
def test_others_may_not(reviewer: Reviewer, job: TrainJob, who: dict[str, Any] | None) -> None:
    if who:
        reviewer.users["token"] = who
    assert report(job, "token") == 403
    assert TrainJobDetail.objects.get(pk=job.pk).trainer_status is None


def test_a_token_for_another_audience_is_refused(reviewer: Reviewer, job: TrainJob) -> None:
    reviewer.users["token"], reviewer.audience = user(), ["https://kubernetes.default.svc"]
    assert report(job, "token") == 403


def test_an_answer_without_audiences_is_refused(reviewer: Reviewer, job: TrainJob) -> None:
    reviewer.answer = lambda path, body: (201, body | {"status": {"authenticated": True, "user": user()}})  # type: ignore[method-assign]
    assert report(job, "token") == 403


def test_the_token_of_the_local_cluster_is_none_here(reviewer: Reviewer, job: TrainJob, settings: Any) -> None:
    assert report(job, progress_token(job.pk)) == 403
    settings.POD_DNS = False
    assert report(job, progress_token(job.pk)) == 200


def test_a_cluster_that_does_not_tell_is_asked_again(reviewer: Reviewer, job: TrainJob) -> None:
    reviewer.users["good"], reviewer.down = user(), True
    assert report(job, "good") == 503
    reviewer.down = False
    assert report(job, "good") == 200


def test_artifacts_are_guarded_alike(reviewer: Reviewer, job: TrainJob, settings: Any, tmp_path: Path) -> None:
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    reviewer.users |= {"good": user(), "bad": user(pod="another")}

    def put(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        address = f"/progress/{job.pk}/artifacts/out/model.bin"
        return Client().put(address, b"weights", content_type="application/octet-stream", headers=headers).status_code

    assert put("bad") == 403
    assert put("good") == 201
