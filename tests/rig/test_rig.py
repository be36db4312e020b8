"""The test cluster does what the tests on it rely on."""

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.rig import coscheduling
from tests.rig.api import Refused, wait_until
from tests.rig.manifests import jobset, life, pod, pod_template
from tests.rig.rig import Call, Rig

pytestmark = pytest.mark.xdist_group("rig")
GANG = 3


@pytest.fixture
def pool(rig: Rig) -> Iterator[str]:
    """Three fake machines of eight GPUs each, of this test alone; gives the value of their label `pool`."""
    name = f"pool-{os.urandom(3).hex()}"
    names = rig.add_machines(3, name, labels={"pool": name})
    yield name
    rig.remove_machines(names)


def pods(rig: Rig, namespace: str) -> list[dict[str, Any]]:
    """Return the pods of a namespace."""
    return rig.admin.list("v1", "Pod", namespace)


def placed(rig: Rig, namespace: str) -> int:
    """Count the pods of a namespace that have a machine."""
    return sum(1 for one in pods(rig, namespace) if one["spec"].get("nodeName"))


def condition(rig: Rig, namespace: str, name: str, kind: str = "Completed") -> bool:
    """Say whether a JobSet has a condition."""
    found = rig.admin.get("jobset.x-k8s.io/v1alpha2", "JobSet", namespace, name) or {}
    return any(c["type"] == kind and c["status"] == "True" for c in found.get("status", {}).get("conditions", []))


def in_pool(template: dict[str, Any], pool: str, **spec: Any) -> dict[str, Any]:
    """Return the template for the machines of a pool, with more of a pod's spec."""
    return template | {"spec": template["spec"] | {"nodeSelector": {"pool": pool}} | spec}


def test_a_jobset_completes_on_fake_machines(rig: Rig, rig_namespace: str, pool: str) -> None:
    template = in_pool(pod_template("any", gpus=8, run_for="1s"), pool)
    rig.admin.apply(jobset("three", 3, template), rig_namespace)
    wait_until(lambda: condition(rig, rig_namespace, "three"), "the JobSet to complete")
    found = pods(rig, rig_namespace)
    assert len({one["spec"]["nodeName"] for one in found}) == 3
    path = rig.admin.path("v1", "Pod", rig_namespace, found[0]["metadata"]["name"])
    assert rig.admin.request("GET", f"{path}/log") == "a fake machine runs nothing\n"


def test_its_webhook_refuses_what_it_knows_to_be_wrong(rig: Rig, rig_namespace: str) -> None:
    wrong = jobset("n" * 60, 1, pod_template("any"))
    with pytest.raises(Refused, match="JobSet name is too long"):
        rig.admin.apply(wrong, rig_namespace)


def test_a_gang_of_kubernetes_waits_for_all_its_places(rig: Rig, rig_namespace: str, pool: str) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": GANG + 1}}},
    }
    rig.admin.apply(group, rig_namespace)
    template = in_pool(pod_template("any", gpus=8), pool, schedulingGroup={"podGroupName": "gang"})
    rig.admin.apply(jobset("gang", GANG + 1, template), rig_namespace)

    def says() -> bool:
        found = rig.admin.get("scheduling.k8s.io/v1beta1", "PodGroup", rig_namespace, "gang") or {}
        return "Unschedulable" in str(found.get("status"))

    wait_until(says, "the gang to be found too large")
    assert placed(rig, rig_namespace) == 0
    more = rig.add_machines(1, f"{pool}-more", labels={"pool": pool})
    wait_until(lambda: placed(rig, rig_namespace) == GANG + 1, "the whole gang to be placed")
    rig.remove_machines(more)


def test_a_gang_of_coscheduling_is_placed_as_a_whole(rig: Rig, rig_namespace: str, pool: str) -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"minMember": GANG},
    }
    rig.admin.apply(group, rig_namespace)
    template = in_pool(pod_template("any", gpus=8), pool, schedulerName=coscheduling.SCHEDULER_NAME)
    template["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "gang"}
    rig.admin.apply(jobset("gang", GANG, template), rig_namespace)
    wait_until(lambda: placed(rig, rig_namespace) == GANG, "the gang to be placed")

    def running() -> bool:
        found = rig.admin.get("scheduling.x-k8s.io/v1alpha1", "PodGroup", rig_namespace, "gang") or {}
        return bool(found.get("status", {}).get("phase") == "Running")

    wait_until(running, "its controller to say that it runs")


RESOLVE = """
import os, socket, sys, time
own = os.environ["HOSTNAME"]
peer = own[:-1] + ("1" if own.endswith("0") else "0")
while True:
    try:
        address = socket.gethostbyname(f"{peer}.pair")
        break
    except socket.gaierror:
        time.sleep(0.05)
if own.endswith("0"):
    with socket.create_server(("", 5000)) as server:
        connection, _ = server.accept()
        print("heard", connection.recv(100).decode(), flush=True)
else:
    while True:
        try:
            with socket.create_connection((address, 5000)) as connection:
                connection.sendall(b"from rank 1")
            break
        except OSError:
            time.sleep(0.05)
"""


def test_pods_of_the_real_machine_find_each_other_by_name(rig: Rig, rig_namespace: str) -> None:
    template = pod_template(rig.image, ["python", "-c", RESOLVE])
    rig.admin.apply(jobset("pair", 2, template), rig_namespace)
    wait_until(lambda: condition(rig, rig_namespace, "pair"), "the two pods to meet")
    first = next(one for one in pods(rig, rig_namespace) if "-node-0-0-" in one["metadata"]["name"])
    assert first["spec"]["nodeName"] == rig.machine
    path = rig.admin.path("v1", "Pod", rig_namespace, first["metadata"]["name"])
    assert rig.admin.request("GET", f"{path}/log") == "heard from rank 1\n"


ASK = """
import json, os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
url = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}/version"
request = urllib.request.Request(url, headers={"Authorization": "Bearer " + open(folder + "/token").read()})
context = ssl.create_default_context(cafile=folder + "/ca.crt")
print(json.load(urllib.request.urlopen(request, context=context))["gitVersion"])
"""


def test_pods_reach_the_api_server_as_in_any_cluster(rig: Rig, rig_namespace: str) -> None:
    rig.admin.apply(pod("asks", rig.image, ["python", "-c", ASK]), rig_namespace)
    path = rig.admin.path("v1", "Pod", rig_namespace, "asks")
    wait_until(lambda: rig.admin.request("GET", path)["status"]["phase"] in ("Succeeded", "Failed"), "the pod to end")
    assert rig.admin.request("GET", f"{path}/log") == "v1.37.2\n"


def test_mpi_is_in_the_image(rig: Rig, rig_namespace: str) -> None:
    program = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))"
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python", "-c", program]
    rig.admin.apply(pod("mpi", rig.image, command), rig_namespace)
    path = rig.admin.path("v1", "Pod", rig_namespace, "mpi")
    wait_until(lambda: rig.admin.request("GET", path)["status"]["phase"] in ("Succeeded", "Failed"), "the pod to end")
    assert rig.admin.request("GET", f"{path}/log").split() == ["2", "2"]


def test_users_may_do_what_they_were_given(rig: Rig, rig_namespace: str) -> None:
    for user in ("trainui", "trainui-web", "stranger"):
        with pytest.raises(Refused, match=f'"{user}" cannot create resource "pods"') as refused:
            rig.api(user).request("POST", rig.admin.path("v1", "Pod", rig_namespace), pod("one", "any"))
        assert refused.value.status == 403
    jobsets = rig.admin.path("jobset.x-k8s.io/v1alpha2", "JobSet", rig_namespace)
    assert rig.api("trainui").request("GET", jobsets)["items"] == []
    seen = Call("list", "jobset.x-k8s.io", "jobsets", rig_namespace, 200)
    wait_until(lambda: seen in rig.calls("trainui"), "the audit log to tell of it")
    assert f"1 × create pods in {rig_namespace}: 403" in rig.refusals("trainui")
    with pytest.raises(Refused, match='"stranger" cannot list resource "jobsets"'):
        rig.api("stranger").request("GET", jobsets)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"start_after": "1h"}, ("Pending", "ContainerCreating", None)),
        ({"start_after": "1s"}, ("Running", "running", None)),
        ({"run_for": "1s"}, ("Succeeded", "Completed", 0)),
        ({"run_for": "1s", "behaviour": "fail", "exit_code": "3"}, ("Failed", "Error", 3)),
        ({"run_for": "1s", "behaviour": "oom"}, ("Failed", "OOMKilled", 137)),
        ({"run_for": "1s", "behaviour": "evicted"}, ("Failed", "Error", 137)),
        ({"behaviour": "image-error"}, ("Pending", "ImagePullBackOff", None)),
    ],
    ids=["slow-start", "start", "complete", "fail", "oom", "evicted", "image-error"],
)
def test_lives_of_pods(
    rig: Rig, rig_namespace: str, pool: str, annotations: dict[str, str], expected: tuple[str, str, int | None]
) -> None:
    one = pod("one", "any", None, 1, **annotations)
    one["spec"]["nodeSelector"] = {"pool": pool}
    rig.admin.apply(one, rig_namespace)
    path = rig.admin.path("v1", "Pod", rig_namespace, "one")

    def seen() -> tuple[str, str, int | None]:
        status = rig.admin.request("GET", path)["status"]
        state = (status.get("containerStatuses") or [{}])[0].get("state", {"waiting": {}})
        ((name, details),) = state.items()
        return status["phase"], details.get("reason", name), details.get("exitCode")

    wait_until(lambda: seen() == expected, f"the pod to be {expected}")
    if annotations.get("behaviour") == "evicted":
        status = rig.admin.request("GET", path)["status"]
        assert status["reason"] == "Evicted"
        assert any(
            c["reason"] == "TerminationByKubelet" for c in status["conditions"] if c["type"] == "DisruptionTarget"
        )


def test_pods_of_a_lost_machine_stay(rig: Rig, rig_namespace: str, pool: str) -> None:
    one = pod("one", "any", gpus=1)
    one["spec"]["nodeSelector"] = {"pool": pool}
    rig.admin.apply(one, rig_namespace)
    path = rig.admin.path("v1", "Pod", rig_namespace, "one")
    wait_until(lambda: rig.admin.request("GET", path)["status"]["phase"] == "Running", "the pod to run")
    machine = rig.admin.request("GET", path)["spec"]["nodeName"]
    rig.lose_machine(machine)

    def taints() -> list[str]:
        node = rig.admin.get("v1", "Node", "", machine) or {}
        return [taint["key"] for taint in node["spec"].get("taints", [])]

    wait_until(lambda: "node.kubernetes.io/unreachable" in taints(), "the machine to be seen as lost")
    rig.admin.request("DELETE", path)
    lost = rig.admin.request("GET", path)
    assert lost["metadata"]["deletionTimestamp"]
    assert lost["status"]["phase"] == "Running"
    rig.find_machine(machine)
    wait_until(lambda: not rig.admin.get("v1", "Pod", rig_namespace, "one"), "the pod to go when the machine is back")


def test_programs_of_an_own_cluster_stop_and_start(rig: Rig, own_rig: Rig) -> None:
    assert own_rig.bridge_address != rig.bridge_address
    own_rig.admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}, "default")
    own_rig.stop_program("kube-apiserver", "SIGKILL")
    with pytest.raises(httpx.ConnectError):
        own_rig.admin.list("v1", "ConfigMap", "default")
    own_rig.start_program("kube-apiserver")
    wait_until(lambda: own_rig.admin.get("v1", "ConfigMap", "default", "kept"), "the API server to be back")
    own_rig.check()


def test_annotations_are_those_of_the_stages() -> None:
    assert life(run_for="1s") == {"rig.trainui.dev/run-for": "1s"}
