"""Lists, pages, tables and discovery over HTTP."""

import orjson
import pytest

from tests.unit.localcluster_api.rig import TRAINER, Client, config_map, pod, trainjob
from trainui.localcluster.api.columns import human_duration, pod_restarts, pod_status
from trainui.localcluster.api.printers import row
from trainui.localcluster.resources import KINDS

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


@pytest.fixture
def maps(client: Client, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(7):
        labels = {"half": str(number % 2)}
        client.ok("POST", path, {"metadata": {"name": f"m{number}", "labels": labels}})
    return path


def names(answer: dict) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


class TestPages:
    def test_all_in_pages(self, client: Client, maps: str) -> None:
        first = client.ok("GET", f"{maps}?limit=3")
        assert names(first) == ["m0", "m1", "m2"]
        assert first["metadata"]["remainingItemCount"] == 4
        second = client.ok("GET", f"{maps}?limit=3&continue={first['metadata']['continue']}")
        assert names(second) == ["m3", "m4", "m5"]
        last = client.ok("GET", f"{maps}?limit=3&continue={second['metadata']['continue']}")
        assert names(last) == ["m6"]
        assert "continue" not in last["metadata"]
        versions = {page["metadata"]["resourceVersion"] for page in (first, second, last)}
        assert len(versions) == 1

    def test_a_page_that_just_fits(self, client: Client, maps: str) -> None:
        assert "continue" not in client.ok("GET", f"{maps}?limit=7")["metadata"]

    def test_the_key_may_be_gone(self, client: Client, maps: str) -> None:
        first = client.ok("GET", f"{maps}?limit=3")
        client.ok("DELETE", f"{maps}/m2")
        client.ok("POST", maps, config_map("m2a"))
        assert names(client.ok("GET", f"{maps}?continue={first['metadata']['continue']}")) == [
            "m2a",
            "m3",
            "m4",
            "m5",
            "m6",
        ]

    def test_with_a_selector(self, client: Client, maps: str) -> None:
        first = client.ok("GET", f"{maps}?limit=2&labelSelector=half%3D0")
        assert names(first) == ["m0", "m2"]
        assert "remainingItemCount" not in first["metadata"]
        second = client.ok("GET", f"{maps}?limit=2&labelSelector=half%3D0&continue={first['metadata']['continue']}")
        assert names(second) == ["m4", "m6"]
        assert "continue" not in second["metadata"]

    @pytest.mark.parametrize(
        "query", ["continue=xyz", "continue=!", "limit=x", "limit=-1", "labelSelector=%3D", "fieldSelector=a%3Db"]
    )
    def test_nonsense(self, client: Client, maps: str, query: str) -> None:
        assert client("GET", f"{maps}?{query}").status == 400

    def test_versions(self, client: Client, maps: str) -> None:
        now = client.ok("GET", maps)["metadata"]["resourceVersion"]
        assert names(client.ok("GET", f"{maps}?resourceVersion=0"))
        assert names(client.ok("GET", f"{maps}?resourceVersion={now}&resourceVersionMatch=Exact"))
        assert client("GET", f"{maps}?resourceVersion=1&resourceVersionMatch=Exact").status == 410
        future = client("GET", f"{maps}?resourceVersion=99999999")
        assert future.status == 504
        assert future.json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"

    def test_over_all_namespaces(self, client: Client, maps: str, namespace: str) -> None:
        found = client.ok("GET", "/api/v1/configmaps")["items"]
        assert {item["metadata"]["name"] for item in found if item["metadata"]["namespace"] == namespace} == {
            f"m{number}" for number in range(7)
        }


class TestSelectors:
    def test_pods_by_machine_and_phase(self, client: Client, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods"
        client.ok("POST", path, pod("a", nodeName="m1"))
        client.ok("POST", path, pod("b"))
        assert names(client.ok("GET", f"{path}?fieldSelector=spec.nodeName%3Dm1")) == ["a"]
        assert names(client.ok("GET", f"{path}?fieldSelector=status.phase%3DPending,metadata.name!%3Da")) == ["b"]
        assert names(client.ok("GET", f"/api/v1/pods?fieldSelector=metadata.namespace%3D{namespace}")) == ["a", "b"]

    def test_events_by_object(self, client: Client, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/events"
        for name in ("a", "b"):
            about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": f"uid-{name}"}
            client.ok("POST", path, {"metadata": {"name": f"e-{name}"}, "involvedObject": about, "reason": "R"})
        query = "fieldSelector=involvedObject.uid%3Duid-a,involvedObject.kind%3DPod,involvedObject.name%3Da"
        assert names(client.ok("GET", f"{path}?{query}&limit=500")) == ["e-a"]


class TestTables:
    def rows(self, client: Client, path: str) -> tuple[list[str], list[list]]:
        table = client.ok("GET", path, Accept=TABLE)
        assert table["kind"] == "Table"
        columns = [column["name"] for column in table["columnDefinitions"] if not column["priority"]]
        return columns, [row["cells"][: len(table["columnDefinitions"])] for row in table["rows"]]

    def test_trainjobs(self, client: Client, namespace: str) -> None:
        path = f"{TRAINER}/namespaces/{namespace}/trainjobs"
        client.ok("POST", path, trainjob("a"))
        columns, rows = self.rows(client, path)
        assert columns == ["Name", "State", "Age"]
        assert rows[0][:2] == ["a", ""]

    def test_every_kind_has_one(self, client: Client) -> None:
        for kind in KINDS.values():
            prefix = f"/apis/{kind.group}/{kind.version}" if kind.group else "/api/v1"
            columns, _ = self.rows(client, f"{prefix}/{kind.plural}")
            assert len(columns) > 1, kind

    def test_one_object(self, client: Client, maps: str) -> None:
        table = client.ok("GET", f"{maps}/m1", Accept=TABLE)
        assert [row["object"]["metadata"]["name"] for row in table["rows"]] == ["m1"]
        assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"

    @pytest.mark.parametrize(
        ("include", "expected"), [("None", None), ("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata")]
    )
    def test_what_goes_along(self, client: Client, maps: str, include: str, expected: str | None) -> None:
        table = client.ok("GET", f"{maps}?includeObject={include}&limit=1", Accept=TABLE)
        assert table["rows"][0].get("object", {}).get("kind") == expected
        assert table["metadata"]["continue"]

    def test_metadata_only(self, client: Client, maps: str) -> None:
        found = client.ok("GET", maps, Accept=PARTIAL)
        assert found["kind"] == "PartialObjectMetadataList"
        assert set(found["items"][0]) == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (185, "3m5s"),
        (11 * 60, "11m"),
        (179 * 60, "179m"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600 + 60, "9h"),
        (49 * 3600, "2d1h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (4000 * 86400, "10y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def _pod(status: dict, spec: dict | None = None, **metadata: str) -> dict:
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **(spec or {})}, "status": status}


def _container(state: dict, **fields: object) -> dict:
    return {"name": "c", "state": state, **fields}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (_pod({"phase": "Pending"}), "Pending"),
        (
            _pod({"phase": "Pending", "containerStatuses": [_container({"waiting": {"reason": "ContainerCreating"}})]}),
            "ContainerCreating",
        ),
        (_pod({"phase": "Running", "containerStatuses": [_container({"running": {}})]}), "Running"),
        (
            _pod({"phase": "Running", "containerStatuses": [_container({"waiting": {"reason": "CrashLoopBackOff"}})]}),
            "CrashLoopBackOff",
        ),
        (
            _pod(
                {
                    "phase": "Failed",
                    "containerStatuses": [_container({"terminated": {"reason": "Error", "exitCode": 1}})],
                }
            ),
            "Error",
        ),
        (_pod({"phase": "Failed", "containerStatuses": [_container({"terminated": {"exitCode": 3}})]}), "ExitCode:3"),
        (_pod({"phase": "Failed", "containerStatuses": [_container({"terminated": {"signal": 9}})]}), "Signal:9"),
        (_pod({"phase": "Failed", "reason": "NodeShutdown"}), "NodeShutdown"),
        (_pod({"phase": "Running"}, deletionTimestamp="t"), "Terminating"),
        (
            _pod(
                {"phase": "Pending", "initContainerStatuses": [_container({"running": {}})]},
                {"initContainers": [{"name": "c"}]},
            ),
            "Init:0/1",
        ),
        (
            _pod(
                {
                    "phase": "Failed",
                    "initContainerStatuses": [_container({"terminated": {"reason": "Error", "exitCode": 1}})],
                },
                {"initContainers": [{"name": "c"}]},
            ),
            "Init:Error",
        ),
    ],
)
def test_the_word_for_a_pod(found: dict, expected: str) -> None:
    assert pod_status(found, 0.0) == expected


def test_restarts() -> None:
    ended = {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}
    status = {"containerStatuses": [_container({"running": {}}, restartCount=2, lastState=ended)]}
    assert pod_restarts(_pod(status), 1767225610.0) == "2 (10s ago)"
    assert pod_restarts(_pod({}), 0.0) == "0"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], ""),
        ([{"type": "Suspended", "status": "True"}], "Suspended"),
        ([{"type": "Suspended", "status": "False"}], ""),
        ([{"type": "Complete", "status": "True"}, {"type": "Suspended", "status": "False"}], "Complete"),
    ],
)
def test_the_state_of_a_trainjob(conditions: list[dict], expected: str) -> None:
    obj = {"metadata": {"name": "a"}, "status": {"conditions": conditions}}
    assert row("TrainJob", obj, 0.0, "None")["cells"][1] == expected


class TestDiscovery:
    ACCEPT = (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    )

    def test_aggregated(self, client: Client) -> None:
        found = {}
        for path in ("/api", "/apis"):
            answer = client("GET", path, Accept=self.ACCEPT)
            assert answer.headers["Content-Type"].endswith("as=APIGroupDiscoveryList")
            for group in answer.json()["items"]:
                for version in group["versions"]:
                    for resource in version["resources"]:
                        found[resource["responseKind"]["kind"]] = resource
        assert set(found) == set(KINDS)
        assert found["Node"]["scope"] == "Cluster"
        assert [part["subresource"] for part in found["Pod"]["subresources"]] == ["log", "status"]

    def test_plain(self, client: Client) -> None:
        assert client.ok("GET", "/api")["versions"] == ["v1"]
        groups = {group["name"] for group in client.ok("GET", "/apis")["groups"]}
        assert groups == {kind.group for kind in KINDS.values() if kind.group}
        names = [r["name"] for r in client.ok("GET", TRAINER)["resources"]]
        assert names == ["clustertrainingruntimes", "trainingruntimes", "trainjobs", "trainjobs/status"]
        assert client.ok("GET", "/apis/batch")["preferredVersion"]["groupVersion"] == "batch/v1"
        assert "pods/log" in [r["name"] for r in client.ok("GET", "/api/v1")["resources"]]
        assert client("GET", "/apis/none").status == 404
        assert client("GET", "/apis/batch/v9").status == 404

    def test_version(self, client: Client) -> None:
        assert client.ok("GET", "/version")["gitVersion"].startswith("v1.")

    def test_openapi(self, client: Client) -> None:
        paths = client.ok("GET", "/openapi/v3")["paths"]
        url = paths["apis/trainer.kubeflow.org/v1alpha1"]["serverRelativeURL"]
        document = client.ok("GET", url)
        patch = document["paths"]["/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}"][
            "patch"
        ]
        assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
        schemas = document["components"]["schemas"]
        assert schemas["org.kubeflow.trainer.v1alpha1.TrainJob"]["properties"]["spec"]["required"] == ["runtimeRef"]
        assert client("GET", "/openapi/v3/apis/none/v1").status == 404
        assert all(orjson.loads(client("GET", entry["serverRelativeURL"]).data) for entry in paths.values())
