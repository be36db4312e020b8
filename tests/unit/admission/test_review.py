"""The admission webhook: its two responses, and who may ask."""

import base64
import datetime
from typing import Any

import orjson
import pytest
from django.test import Client

from jobs.admission import review
from jobs.admission.configuration import configurations
from jobs.admission.views import admission_token

NOW = datetime.datetime(2026, 5, 1, 12, 0, 0, tzinfo=datetime.UTC)
STAMP = "2026-05-01T12:00:00Z"
KIND = {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"}
RUNTIME: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "rt"},
    "spec": {
        "mlPolicy": {"torch": {}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {
                                "template": {"spec": {"containers": [{"name": "node", "image": "example/app:1"}]}}
                            },
                        },
                    }
                ]
            }
        },
    },
}


def trainjob(**spec: Any) -> dict[str, Any]:
    reference = {"name": "rt", "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org"}
    defaults = {"suspend": False, "managedBy": "trainer.kubeflow.org/trainjob-controller"}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "team-a", "uid": "u1"},
        "spec": {"runtimeRef": reference, **defaults, **spec},
    }


def patches(selector: dict[str, str], **more: str) -> list[dict[str, Any]]:
    pod = {"template": {"spec": {"template": {"spec": {"nodeSelector": selector}}}}}
    spec = {"template": {"spec": {"replicatedJobs": [{"name": "node", **pod}]}}}
    return [{"manager": "acme.example/mgr", "trainingRuntimeSpec": spec, **more}]


def request(obj: Any, old: Any = None, **more: Any) -> dict[str, Any]:
    operation = "UPDATE" if old else "CREATE"
    return {"uid": "1", "kind": KIND, "operation": operation, "object": obj, "oldObject": old, **more}


def judged(asked: dict[str, Any]) -> dict[str, Any]:
    """The verdict where the cluster has one runtime, no JobSet, and no job of ours."""
    known = review.Lookups(
        runtime=lambda job: RUNTIME if job["spec"]["runtimeRef"]["name"] == "rt" else None,
        kept=lambda job: None,
        jobset=lambda old, new: None,
    )
    return review.judged(asked, NOW, known)


def patched(answer: dict[str, Any]) -> Any:
    assert answer["patchType"] == "JSONPatch"
    [operation] = orjson.loads(base64.b64decode(answer["patch"]))
    assert (operation["op"], operation["path"]) == ("replace", "/spec")
    return operation["value"]


def test_a_new_patch_is_stamped() -> None:
    spec = patched(review.defaulted(request(trainjob(runtimePatches=patches({"a": "b"}))), NOW))
    assert spec["runtimePatches"][0]["time"] == STAMP


@pytest.mark.parametrize(("selector", "time"), [({"a": "b"}, "2025-01-01T00:00:00Z"), ({"a": "c"}, STAMP)])
def test_only_a_changed_patch_gets_a_new_time(selector: dict[str, str], time: str) -> None:
    old = trainjob(runtimePatches=patches({"a": "b"}, time="2025-01-01T00:00:00Z"))
    spec = patched(review.defaulted(request(trainjob(runtimePatches=patches(selector)), old), NOW))
    assert spec["runtimePatches"][0]["time"] == time


def test_nothing_is_patched_without_need() -> None:
    assert review.defaulted(request(trainjob()), NOW) == {"allowed": True}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"runtimeRef": {"name": "none"}}, "spec.runtimeRef"),
        ({"trainer": {"env": [{"name": "PET_NNODES", "value": "3"}]}}, "spec.trainer.env"),
        ({"trainer": {"numNodes": -1}}, "spec.trainer.numNodes"),
        ({"managedBy": "me"}, "spec.managedBy"),
    ],
)
def test_a_refusal_names_the_fields(spec: dict[str, Any], field: str) -> None:
    answer = judged(request(trainjob(**spec)))
    assert answer["allowed"] is False
    status = answer["status"]
    assert (status["code"], status["reason"], status["details"]["name"]) == (422, "Invalid", "job")
    assert any(cause["field"].startswith(field) for cause in status["details"]["causes"])
    assert field in status["message"]


def test_what_only_forms_refuse_is_a_warning() -> None:
    obj = trainjob()
    obj["metadata"]["name"] = "n" * 60
    answer = judged(request(obj))
    assert answer["allowed"] is True
    assert any(warning.startswith("metadata.name: ") for warning in answer["warnings"])


def test_a_change_of_an_immutable_field_is_refused() -> None:
    answer = judged(request(trainjob(trainer={"numNodes": 3}), trainjob(trainer={"numNodes": 2})))
    assert [cause["field"] for cause in answer["status"]["details"]["causes"]] == ["spec.trainer"]


def test_a_deleted_runtime_stops_no_update() -> None:
    gone = {"runtimeRef": {"name": "gone", "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org"}}
    assert judged(request(trainjob(suspend=True, **gone), trainjob(**gone)))["allowed"] is True


@pytest.mark.parametrize(
    "more", [{"kind": {**KIND, "kind": "JobSet"}}, {"kind": {**KIND, "group": "x"}}, {"subResource": "status"}]
)
def test_other_objects_pass(more: dict[str, Any]) -> None:
    asked = request(trainjob(managedBy="me"), **more)
    assert (judged(asked), review.defaulted(asked, NOW)) == ({"allowed": True}, {"allowed": True})


def test_what_is_being_deleted_passes() -> None:
    obj = trainjob(managedBy="me")
    obj["metadata"]["deletionTimestamp"] = STAMP
    assert judged(request(obj, trainjob(managedBy="me"))) == {"allowed": True}


@pytest.mark.django_db
class TestAddress:
    """The endpoint itself."""

    def post(self, path: str, body: Any) -> Any:
        return Client().post(path, orjson.dumps(body), content_type="application/json")

    def test_it_answers_who_knows_the_token(self) -> None:
        answer = self.post(f"/admission/{admission_token()}/defaults", {"request": request(trainjob())})
        assert (answer.status_code, answer.json()["kind"]) == (200, "AdmissionReview")
        assert answer.json()["response"] == {"uid": "1", "allowed": True}

    @pytest.mark.parametrize("path", ["/admission/wrong/rules", "/admission/wrong/defaults", "/admission/{}/other"])
    def test_it_is_not_there_for_others(self, path: str) -> None:
        assert self.post(path.format(admission_token()), {"request": request(trainjob())}).status_code == 404

    @pytest.mark.parametrize("body", [[], {}, {"request": {}}, {"request": 3}, "text"])
    def test_what_is_no_review_is_refused(self, body: Any) -> None:
        assert self.post(f"/admission/{admission_token()}/rules", body).status_code == 400

    def test_only_post_is_answered(self) -> None:
        assert Client().get(f"/admission/{admission_token()}/rules").status_code == 405


def test_both_configurations_fail_closed_and_pass_what_we_write() -> None:
    for obj in configurations("http://127.0.0.1:1"):
        [hook] = obj["webhooks"]
        assert hook["failurePolicy"] == "Fail"
        assert "!= 'trainui'" in hook["matchConditions"][0]["expression"]
        assert hook["clientConfig"]["url"].startswith(f"http://127.0.0.1:1/admission/{admission_token()}/")
        assert hook["rules"][0]["resources"] == ["trainjobs"]
