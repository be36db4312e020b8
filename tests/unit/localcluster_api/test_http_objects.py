"""Objects over HTTP."""

import stat
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest

from tests.unit.localcluster_api.rig import TRAINER, Client, Json, RunningServer, config_map, pod, trainjob

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY, YAML = "application/json-patch+json", "application/apply-patch+yaml", "application/yaml"


@pytest.fixture
def jobs(namespace: str) -> str:
    return f"{TRAINER}/namespaces/{namespace}/trainjobs"


@pytest.fixture
def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def refusal(client: Client, method: str, path: str, body: Any = None, media: str = "application/json") -> Json:
    """Return the Status of a refused request."""
    answer = client(method, path, body, media)
    status = answer.json()
    assert status["kind"] == "Status"
    assert status["status"] == "Failure"
    assert status["code"] == answer.status
    return status


class TestAccess:
    def test_only_with_the_token(self, client: Client) -> None:
        for header in ("", "Bearer wrong", f"Basic {client.token}", f"bearer {client.token}x"):
            answer = client("GET", "/api/v1/pods", Authorization=header)
            assert answer.status == 401
            assert answer.json()["reason"] == "Unauthorized"

    @pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez", "/livez/ping"])
    def test_health_without_it(self, client: Client, path: str) -> None:
        answer = client("GET", path, Authorization="")
        assert (answer.status, answer.data) == (200, b"ok")

    def test_private_files(self, server: RunningServer) -> None:
        folder = server.folder.path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        for name in ("kubeconfig", "token", "server.key", "port"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600

    def test_loopback_only(self, server: RunningServer) -> None:
        assert server.server.listener.getsockname()[0] == "127.0.0.1"


class TestLife:
    def test_create_get_replace_delete(self, client: Client, jobs: str, namespace: str) -> None:
        made = client("POST", jobs, trainjob("a"))
        assert made.status == 201
        obj = made.json()
        assert obj["metadata"]["namespace"] == namespace
        assert obj["spec"]["runtimeRef"]["kind"] == "ClusterTrainingRuntime"
        assert client.ok("GET", f"{jobs}/a") == obj
        obj["spec"]["suspend"] = True
        after = client.ok("PUT", f"{jobs}/a", obj)
        assert after["spec"]["suspend"] is True
        assert after["metadata"]["generation"] == 2
        gone = client.ok("DELETE", f"{jobs}/a")
        assert gone["status"] == "Success"
        assert gone["details"]["uid"] == obj["metadata"]["uid"]
        assert refusal(client, "GET", f"{jobs}/a")["message"] == 'trainjobs.trainer.kubeflow.org "a" not found'

    def test_yaml(self, client: Client, maps: str) -> None:
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata:\n  day: '2026-01-01'\n  text: |\n    a\n    b\n"
        assert client.ok("POST", maps, body, YAML)["data"] == {"day": "2026-01-01", "text": "a\nb\n"}

    def test_yaml_times_stay_text(self, client: Client, namespace: str) -> None:
        body = (
            f"involvedObject: {{namespace: {namespace}}}\nmetadata: {{name: e}}\nfirstTimestamp: 2026-01-01T00:00:00Z\n"
        )
        made = client.ok("POST", f"/api/v1/namespaces/{namespace}/events", body.encode(), YAML)
        assert made["firstTimestamp"] == "2026-01-01T00:00:00Z"

    def test_generated_name(self, client: Client, maps: str) -> None:
        made = client.ok("POST", maps, {"metadata": {"generateName": "g-"}})
        assert made["metadata"]["name"].startswith("g-")
        assert len(made["metadata"]["name"]) == 7

    def test_cluster_wide(self, client: Client) -> None:
        path = f"{TRAINER}/clustertrainingruntimes"
        runtime = {"metadata": {"name": "wide", "namespace": "ignored"}, "spec": {"mlPolicy": {"mpi": {}}}}
        made = client.ok("POST", path, runtime)
        assert "namespace" not in made["metadata"]
        assert made["spec"]["mlPolicy"]["mpi"]["sshAuthMountPath"] == "/root/.ssh"
        client.ok("DELETE", f"{path}/wide")

    def test_a_name_with_percent_signs(self, client: Client, maps: str) -> None:
        client.ok("POST", maps, config_map("a.b"))
        assert client.ok("GET", f"{maps}/a%2Eb")["metadata"]["name"] == "a.b"
        assert client("GET", f"{maps}/a%2Fb").status == 404

    def test_twenty_at_once_make_one(self, client: Client, jobs: str) -> None:
        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(lambda _: client("POST", jobs, trainjob("one")).status, range(20)))
        assert sorted(codes) == [201] + [409] * 19


class TestRefusals:
    @pytest.mark.parametrize(
        ("method", "path", "code", "reason"),
        [
            ("GET", "/api/v1/namespaces/none/pods/x", 404, "NotFound"),
            ("GET", "/api/v1/none", 404, "NotFound"),
            ("GET", "/apis/none/v1/x", 404, "NotFound"),
            ("GET", "/apis/batch/v2/jobs", 404, "NotFound"),
            ("GET", "/api/v1/pods/x", 404, "NotFound"),
            ("GET", "/api/v1/nodes/x/log", 404, "NotFound"),
            ("GET", "/api/v1/namespaces/default/configmaps/x/status", 404, "NotFound"),
            ("GET", "/nothing", 404, "NotFound"),
            ("POST", "/api/v1/pods", 405, "MethodNotAllowed"),
            ("DELETE", "/api/v1/pods", 405, "MethodNotAllowed"),
            ("PUT", "/api/v1/namespaces/default/pods", 405, "MethodNotAllowed"),
            ("DELETE", "/api/v1/namespaces/default/pods/x/log", 405, "MethodNotAllowed"),
            ("DELETE", "/api/v1/namespaces/default/pods/x", 404, "NotFound"),
        ],
    )
    def test_paths_and_methods(self, client: Client, method: str, path: str, code: int, reason: str) -> None:
        status = refusal(client, method, path, {} if method != "GET" else None)
        assert (status["code"], status["reason"]) == (code, reason)

    def test_bodies(self, client: Client, maps: str, jobs: str, namespace: str) -> None:
        cases: list[tuple[str, Any, str, int]] = [
            (maps, b"{", "application/json", 400),
            (maps, b"[1]", "application/json", 400),
            (maps, b"a: [", YAML, 400),
            (maps, b"a: &x [1]\nb: *x\n", YAML, 400),
            (maps, b"[" * 100_000, "application/json", 400),
            (maps, b"[" * 20_000, YAML, 400),
            (maps, b"a: 123456789012345678901234567890", YAML, 400),
            (maps, b"x", "text/plain", 415),
            (maps, {**config_map("a"), "kind": "Secret"}, "application/json", 400),
            (maps, {**config_map("a"), "apiVersion": "v2"}, "application/json", 400),
            (maps, {"metadata": {"name": "a", "namespace": "other"}}, "application/json", 400),
            (maps, {"metadata": "x"}, "application/json", 400),
            (maps, {"metadata": {"name": 5}}, "application/json", 422),
            (maps, {"metadata": {"name": "a", "labels": ["x"]}}, "application/json", 422),
            (maps, {"metadata": {}}, "application/json", 422),
            (jobs, {"metadata": {"name": "a"}}, "application/json", 422),
            (jobs, {"metadata": {"name": "a"}, "spec": []}, "application/json", 422),
            (f"/api/v1/namespaces/{namespace}-none/configmaps", config_map("a"), "application/json", 404),
        ]
        for path, body, media, code in cases:
            status = refusal(client, "POST", path, body, media)
            assert status["code"] == code, (body, status)
        assert client.ok("GET", maps)["items"] == []

    def test_large_bodies(self, client: Client, maps: str) -> None:
        huge = orjson.dumps(config_map("a", x="x" * (3 * 1024 * 1024)))
        assert refusal(client, "POST", maps, huge)["reason"] == "RequestEntityTooLarge"
        chunks = client.raw(
            "POST", maps, body=iter([b"x" * 1_000_000] * 4), headers={"Content-Type": "application/json"}
        )
        assert chunks.status == 413
        assert client("GET", maps).status == 200

    def test_causes_name_the_fields(self, client: Client, jobs: str) -> None:
        status = refusal(client, "POST", jobs, trainjob("a", trainer={"numNodes": "two", "image": 5}))
        assert (status["code"], status["reason"]) == (422, "Invalid")
        assert {cause["field"] for cause in status["details"]["causes"]} == {
            "spec.trainer.numNodes",
            "spec.trainer.image",
        }
        assert status["details"]["kind"] == "TrainJob"

    def test_an_update_needs_the_version(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, trainjob("a"))
        status = refusal(client, "PUT", f"{jobs}/a", trainjob("a", suspend=True))
        assert status["details"]["causes"][0]["field"] == "metadata.resourceVersion"

    def test_an_old_version(self, client: Client, maps: str) -> None:
        old = client.ok("POST", maps, config_map("a", x="1"))
        client.ok("PATCH", f"{maps}/a", {"data": {"x": "2"}}, MERGE)
        assert refusal(client, "PUT", f"{maps}/a", {**old, "data": {}})["reason"] == "Conflict"

    def test_immutable_fields(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, trainjob("a"))
        status = refusal(client, "PATCH", f"{jobs}/a", {"spec": {"runtimeRef": {"name": "other"}}}, MERGE)
        assert status["details"]["causes"] == [
            {"field": "spec.runtimeRef", "message": "Invalid value: field is immutable", "reason": "FieldValueInvalid"}
        ]

    def test_accept(self, client: Client) -> None:
        assert client("GET", "/api/v1/pods", Accept="text/html").status == 406
        assert client("GET", "/api/v1/pods", Accept="application/vnd.kubernetes.protobuf").status == 406
        both = "application/vnd.kubernetes.protobuf,application/json"
        assert client.ok("GET", "/api/v1/pods", Accept=both)["kind"] == "PodList"


class TestUnknownFields:
    BODY = trainjob("a", trainer={"nodes": 2}, podSpecOverrides=[])

    def test_strict(self, client: Client, jobs: str) -> None:
        status = refusal(client, "POST", f"{jobs}?fieldValidation=Strict", self.BODY)
        assert status["code"] == 400
        assert status["message"] == (
            'strict decoding error: unknown field "spec.trainer.nodes", unknown field "spec.podSpecOverrides"'
        )
        assert {cause["field"] for cause in status["details"]["causes"]} == {
            "spec.trainer.nodes",
            "spec.podSpecOverrides",
        }
        assert client("GET", f"{jobs}/a").status == 404

    @pytest.mark.parametrize("mode", ["", "?fieldValidation=Warn"])
    def test_warn(self, client: Client, jobs: str, mode: str) -> None:
        answer = client("POST", jobs + mode, self.BODY)
        assert answer.status == 201
        assert '299 - "unknown field \\"spec.trainer.nodes\\""' in answer.headers.getlist("Warning")
        assert "nodes" not in answer.json()["spec"]["trainer"]

    def test_warnings_are_bounded(self, client: Client, jobs: str) -> None:
        body = trainjob("a", **{f"field{number}": 1 for number in range(2000)}, **{"é\n" * 50: 1})
        answer = client("POST", jobs, body)
        assert answer.status == 201
        assert sum(len(text) for text in answer.headers.getlist("Warning")) < 8192

    def test_ignore(self, client: Client, jobs: str) -> None:
        answer = client("POST", f"{jobs}?fieldValidation=Ignore", self.BODY)
        assert answer.status == 201
        assert "Warning" not in answer.headers

    def test_other_modes(self, client: Client, jobs: str) -> None:
        assert refusal(client, "POST", f"{jobs}?fieldValidation=Loose", self.BODY)["code"] == 422

    @pytest.mark.parametrize(
        ("media", "patch"),
        [
            (MERGE, {"spec": {"more": 1}}),
            (JSON_PATCH, [{"op": "add", "path": "/spec/more", "value": 1}]),
        ],
    )
    def test_in_patches(self, client: Client, jobs: str, media: str, patch: Any) -> None:
        client.ok("POST", jobs, trainjob("a"))
        status = refusal(client, "PATCH", f"{jobs}/a?fieldValidation=Strict", patch, media)
        assert 'unknown field "spec.more"' in status["message"]


class TestDryRun:
    def test_nothing_is_stored(self, client: Client, jobs: str, server: RunningServer) -> None:
        client.ok("POST", jobs, trainjob("a"))
        version = server.server.store.version
        made = client.ok("POST", f"{jobs}?dryRun=All", trainjob("b"))
        assert made["spec"]["suspend"] is False
        assert client.ok("PATCH", f"{jobs}/a?dryRun=All", {"spec": {"suspend": True}}, MERGE)["spec"]["suspend"] is True
        assert client("PATCH", f"{jobs}/c?dryRun=All&fieldManager=m", trainjob("c"), APPLY).status == 201
        client.ok("DELETE", f"{jobs}/a?dryRun=All")
        client.ok("DELETE", f"{jobs}/a", {"dryRun": ["All"]})
        client.ok("DELETE", f"{jobs}?dryRun=All")
        assert [item["metadata"]["name"] for item in client.ok("GET", jobs)["items"]] == ["a"]
        assert client.ok("GET", f"{jobs}/a")["spec"]["suspend"] is False
        assert server.server.store.version == version

    def test_faults_are_found(self, client: Client, jobs: str) -> None:
        assert refusal(client, "POST", f"{jobs}?dryRun=All", trainjob("Bad"))["code"] == 422
        assert refusal(client, "POST", f"{jobs}?dryRun=Some", trainjob("a"))["code"] == 422


class TestPatches:
    def test_formats(self, client: Client, maps: str) -> None:
        client.ok("POST", maps, config_map("a", x="1", y="2"))
        assert client.ok("PATCH", f"{maps}/a", {"data": {"x": None, "z": "3"}}, MERGE)["data"] == {"y": "2", "z": "3"}
        replaced = [{"op": "replace", "path": "/data/y", "value": "9"}]
        assert client.ok("PATCH", f"{maps}/a", replaced, JSON_PATCH)["data"] == {"y": "9", "z": "3"}
        assert client.ok("PATCH", f"{maps}/a", {"data": {"$patch": "replace", "q": "1"}}, STRATEGIC)["data"] == {
            "q": "1"
        }

    def test_strategic_for_built_in_kinds_only(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, trainjob("a"))
        assert refusal(client, "PATCH", f"{jobs}/a", {"spec": {}}, STRATEGIC)["code"] == 415

    def test_other_formats(self, client: Client, maps: str) -> None:
        client.ok("POST", maps, config_map("a"))
        assert refusal(client, "PATCH", f"{maps}/a", {}, "application/json")["code"] == 415
        assert refusal(client, "PATCH", f"{maps}/a", [], MERGE)["code"] == 400
        assert refusal(client, "PATCH", f"{maps}/none", {}, MERGE)["code"] == 404

    def test_a_patch_does_not_rename(self, client: Client, maps: str) -> None:
        client.ok("POST", maps, config_map("a"))
        assert refusal(client, "PATCH", f"{maps}/a", {"metadata": {"name": "b"}}, MERGE)["code"] == 400

    def test_with_a_version(self, client: Client, maps: str) -> None:
        made = client.ok("POST", maps, config_map("a"))
        version = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"x": "1"}}
        client.ok("PATCH", f"{maps}/a", version, MERGE)
        assert refusal(client, "PATCH", f"{maps}/a", {**version, "data": {"x": "2"}}, MERGE)["reason"] == "Conflict"


class TestStatus:
    CONDITION = {
        "type": "Suspended",
        "status": "True",
        "reason": "Suspended",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }

    def test_it_is_written_alone(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, {**trainjob("a"), "status": {"conditions": [self.CONDITION]}})
        assert "status" not in client.ok("GET", f"{jobs}/a")
        patch = {"spec": {"suspend": True}, "status": {"conditions": [self.CONDITION]}}
        after = client.ok("PATCH", f"{jobs}/a/status", patch, MERGE)
        assert after["status"]["conditions"] == [self.CONDITION]
        assert after["spec"]["suspend"] is False
        assert after["metadata"]["generation"] == 1
        assert client.ok("GET", f"{jobs}/a/status") == after
        kept = client.ok("PATCH", f"{jobs}/a", {"status": None, "spec": {"suspend": True}}, MERGE)
        assert kept["status"] == after["status"]

    def test_put(self, client: Client, jobs: str) -> None:
        made = client.ok("POST", jobs, trainjob("a"))
        made["status"] = {"conditions": [self.CONDITION]}
        assert client.ok("PUT", f"{jobs}/a/status", made)["status"]["conditions"] == [self.CONDITION]

    def test_rules(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, trainjob("a"))
        patch = {"status": {"conditions": [{**self.CONDITION, "status": "Maybe"}]}}
        status = refusal(client, "PATCH", f"{jobs}/a/status", patch, MERGE)
        assert status["details"]["causes"][0]["field"] == "status.conditions[0].status"


class TestDelete:
    def test_preconditions(self, client: Client, maps: str) -> None:
        made = client.ok("POST", maps, config_map("a"))
        assert refusal(client, "DELETE", f"{maps}/a", {"preconditions": {"uid": "x"}})["reason"] == "Conflict"
        old = {"preconditions": {"resourceVersion": "1"}}
        assert refusal(client, "DELETE", f"{maps}/a", old)["reason"] == "Conflict"
        client.ok("DELETE", f"{maps}/a", {"preconditions": {"uid": made["metadata"]["uid"]}})

    def test_foreground_leaves_a_finalizer(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, trainjob("a"))
        left = client.ok("DELETE", f"{jobs}/a", {"propagationPolicy": "Foreground"})
        assert left["metadata"]["finalizers"] == ["foregroundDeletion"]
        client.ok("PATCH", f"{jobs}/a", {"metadata": {"finalizers": None}}, MERGE)
        assert client("GET", f"{jobs}/a").status == 404

    def test_no_more_finalizers(self, client: Client, jobs: str) -> None:
        client.ok("POST", jobs, {**trainjob("a"), "metadata": {"name": "a", "finalizers": ["a.io/x", "a.io/y"]}})
        client.ok("DELETE", f"{jobs}/a")
        status = refusal(client, "PATCH", f"{jobs}/a", {"metadata": {"finalizers": ["a.io/z"]}}, MERGE)
        assert status["details"]["causes"][0]["field"] == "metadata.finalizers"
        client.ok("PATCH", f"{jobs}/a", {"metadata": {"finalizers": ["a.io/y"]}}, MERGE)
        client.ok("PATCH", f"{jobs}/a", {"metadata": {"finalizers": []}}, MERGE)
        assert client("GET", f"{jobs}/a").status == 404

    def test_a_pod_with_a_machine(self, client: Client, pods: str) -> None:
        client.ok("POST", pods, pod("a", nodeName="m"))
        left = client.ok("DELETE", f"{pods}/a?gracePeriodSeconds=7")
        assert left["metadata"]["deletionGracePeriodSeconds"] == 7
        assert client.ok("DELETE", f"{pods}/a", {"gracePeriodSeconds": 0})["status"] == "Success"

    def test_bad_options(self, client: Client, maps: str) -> None:
        client.ok("POST", maps, config_map("a"))
        assert refusal(client, "DELETE", f"{maps}/a", {"propagationPolicy": "x"})["code"] == 400
        assert refusal(client, "DELETE", f"{maps}/a", {"gracePeriodSeconds": "x"})["code"] == 400
        assert refusal(client, "DELETE", f"{maps}/a?gracePeriodSeconds=x")["code"] == 400

    def test_a_selected_collection(self, client: Client, maps: str) -> None:
        for name, label in (("a", "1"), ("b", "2"), ("c", "1")):
            client.ok("POST", maps, {"metadata": {"name": name, "labels": {"l": label}}})
        deleted = client.ok("DELETE", f"{maps}?labelSelector=l%3D1")
        assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "c"]
        assert [item["metadata"]["name"] for item in client.ok("GET", maps)["items"]] == ["b"]


class TestApply:
    def test_creates_then_updates(self, client: Client, maps: str) -> None:
        first = client.apply(f"{maps}/a", config_map("a", x="1"), "m")
        assert first.status == 201
        second = client.apply(f"{maps}/a", config_map("a", y="2"), "m")
        assert second.status == 200
        assert second.json()["data"] == {"y": "2"}
        again = client.apply(f"{maps}/a", config_map("a", y="2"), "m").json()
        assert again == second.json()

    def test_conflict(self, client: Client, maps: str) -> None:
        client.apply(f"{maps}/a", config_map("a", x="1"), "m")
        answer = client.apply(f"{maps}/a", config_map("a", x="2"), "n")
        assert answer.status == 409
        status = answer.json()
        assert status["details"]["causes"] == [
            {"reason": "FieldManagerConflict", "message": 'conflict with "m" using v1', "field": ".data.x"}
        ]
        assert client.apply(f"{maps}/a", config_map("a", x="2"), "n", force=True).json()["data"] == {"x": "2"}

    def test_against_an_edit(self, client: Client, jobs: str) -> None:
        client.apply(f"{jobs}/a", trainjob("a", suspend=False), "m")
        client.ok("PATCH", f"{jobs}/a?fieldManager=kubectl-edit", {"spec": {"suspend": True}}, MERGE)
        answer = client.apply(f"{jobs}/a", trainjob("a", suspend=False), "m")
        assert answer.json()["message"] == (
            'Apply failed with 1 conflict: conflict with "kubectl-edit" using trainer.kubeflow.org/v1alpha1: .spec.suspend'
        )

    def test_defaults_are_nobodys(self, client: Client, jobs: str) -> None:
        made = client.apply(f"{jobs}/a", trainjob("a"), "m").json()
        assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:runtimeRef": {"f:name": {}}}}

    def test_numbers_and_texts_of_quantities_are_the_same(self, client: Client, pods: str) -> None:
        body = pod("a", containers=[{"name": "main", "image": "i", "resources": {"limits": {"cpu": 1}}}])
        first = client.apply(f"{pods}/a", body, "m").json()
        assert client.apply(f"{pods}/a", body, "m").json() == first

    def test_what_is_not_stored_is_not_owned(self, client: Client, maps: str) -> None:
        made = client.ok("POST", maps, {**config_map("a", x="1"), "more": 1})
        assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:x": {}}}

    def test_status(self, client: Client, jobs: str) -> None:
        client.apply(f"{jobs}/a", trainjob("a"), "m")
        status = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "a"},
            "status": {"conditions": [TestStatus.CONDITION]},
        }
        after = client.apply(f"{jobs}/a/status", status, "controller").json()
        assert after["status"]["conditions"][0]["type"] == "Suspended"
        assert [entry.get("subresource") for entry in after["metadata"]["managedFields"]] == [None, "status"]
        assert client.apply(f"{jobs}/none/status", status | {"metadata": {"name": "none"}}, "c").status == 404

    def test_refusals(self, client: Client, maps: str) -> None:
        path = f"{maps}/a?fieldManager=m"
        assert refusal(client, "PATCH", f"{maps}/a", config_map("a"), APPLY)["code"] == 422
        assert refusal(client, "PATCH", path, {"metadata": {"name": "a"}}, APPLY)["code"] == 400
        assert refusal(client, "PATCH", path, config_map("b"), APPLY)["code"] == 400
        managed = config_map("a")
        managed["metadata"]["managedFields"] = [{"manager": "m"}]
        assert refusal(client, "PATCH", path, managed, APPLY)["code"] == 400
        unborn = config_map("a")
        unborn["metadata"]["uid"] = "x"
        assert refusal(client, "PATCH", path, unborn, APPLY)["code"] == 409
        assert refusal(client, "PATCH", path, b"a: [", APPLY)["code"] == 400

    def test_faults_of_type(self, client: Client, jobs: str) -> None:
        answer = client.apply(f"{jobs}/a", trainjob("a", trainer={"env": "x"}), "m")
        assert answer.json()["details"]["causes"][0]["field"] == "spec.trainer.env"

    def test_the_manager_of_other_writes(self, client: Client, maps: str) -> None:
        made = client.ok("POST", maps, config_map("a"), User_Agent="tool/1.0 (x)")
        assert made["metadata"]["managedFields"][0]["manager"] == "tool"
        named = client.ok("POST", f"{maps}?fieldManager=me", config_map("b"))
        assert named["metadata"]["managedFields"][0]["manager"] == "me"
        assert refusal(client, "POST", f"{maps}?fieldManager={'x' * 200}", config_map("c"))["code"] == 422


def test_a_namespace_and_what_is_in_it(client: Client, namespace: str, maps: str) -> None:
    client.ok("POST", maps, config_map("a"))
    client.ok("DELETE", f"/api/v1/namespaces/{namespace}")
    assert client("GET", f"{maps}/a").status == 404
    assert client("GET", f"/api/v1/namespaces/{namespace}").status == 404
