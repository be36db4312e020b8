"""A gang of Volcano on a real Kubernetes: its CRD appears while trainui runs, and the test plays its scheduler with states as Volcano writes them.

Volcano itself cannot be built from Go modules; phases, conditions and messages are those that its code writes.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from tests.jobs.gangs_on_rig import GPU, part, pods, runtime, submit, told
from tests.jobs.gangs_on_rig import pool as pool
from tests.rig.rig import Rig
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.only_kubernetes
GROUP, VERSION = "scheduling.volcano.sh", "v1beta1"
NODES = 3


@pytest.fixture
def volcano(rig: Rig) -> Iterator[None]:
    """Volcano's kind of pod group."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free, "status": free}}},
    }
    names = {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    rig.admin.apply(crd)
    yield
    rig.admin.delete(crd)


class Scheduler:
    """Writes what Volcano's scheduler writes about one gang."""

    def __init__(self, rig: Rig, namespace: str, name: str) -> None:
        self.rig, self.namespace, self.name = rig, namespace, name

    def group(self) -> Json | None:
        return self.rig.admin.get(f"{GROUP}/{VERSION}", "PodGroup", self.namespace, self.name)

    def says(self, phase: str, **conditions: tuple[str, str]) -> None:
        """Write the phase, and each condition with its reason and message; none is ever taken back."""
        group = self.group()
        assert group is not None
        had = (group.get("status") or {}).get("conditions") or []
        new = [
            {"type": type, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
            for type, (reason, message) in conditions.items()
        ]
        self.rig.admin.patch(group, {"status": {"phase": phase, "conditions": [*had, *new]}}, "status")

    def event(self, message: str) -> None:
        """Write an event about the group, as it tells why the queue is not left."""
        group = self.group()
        assert group is not None
        about = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "PodGroup", "name": self.name}
        about |= {"namespace": self.namespace, "uid": group["metadata"]["uid"]}
        self.rig.admin.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"generateName": f"{self.name}.", "namespace": self.namespace},
                "involvedObject": about,
                "type": "Normal",
                "reason": "Unschedulable",
                "message": message,
                "source": {"component": "volcano"},
                "firstTimestamp": now(),
                "lastTimestamp": now(),
                "count": 1,
            }
        )

    def place(self, pod: Json, machine: str) -> None:
        """Bind a pod to a machine."""
        name = pod["metadata"]["name"]
        target = {"apiVersion": "v1", "kind": "Node", "name": machine}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self.rig.admin.request("POST", f"/api/v1/namespaces/{self.namespace}/pods/{name}/binding", body)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def known(stack: Stack) -> Callable[[], bool]:
    """Return what tells whether trainui has found Volcano."""

    def there() -> bool:
        with stack.client("admin") as client:
            return "volcano" in client.get("/api/v1/cluster").json()["gang_schedulers"]

    return there


def test_a_gang_of_volcano_from_its_queue_to_its_end(rig: Rig, stack: Stack, pool: str, volcano: None) -> None:
    wait_for(known(stack), 60, "Volcano to be found")
    marks = {"scheduling.volcano.sh/queue-name": "research"}
    job = submit(
        stack, runtime(rig, pool, "volcano", [part("node", pool, lives={"run_for": "6s"})], marks=marks), "v", 3
    )
    scheduler = Scheduler(rig, stack.project, job["name"])
    wait_for(lambda: len(pods(stack, job)) == NODES and scheduler.group(), 60, "pods and their group")
    group = scheduler.group()
    assert group is not None
    assert group["spec"] == {"minMember": NODES, "minResources": {GPU: "24"}, "queue": "research"}
    assert {pod["spec"]["schedulerName"] for pod in pods(stack, job)} == {"volcano"}

    scheduler.says("Pending")
    scheduler.event(f"queue resource quota insufficient: insufficient {GPU}")
    told(stack, job, "VolcanoQueue", "research", GPU)
    assert stack.job(job["id"])["phase"] == "Queued"

    one = pods(stack, job)[1]["metadata"]["name"]
    ready = "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 Schedulable, 2 Unschedulable"
    fit = f"{ready}. Origin reason is {one}: "
    why = f"0/2 nodes are unavailable: 2 Insufficient {GPU}."
    scheduler.says("Inqueue", Unschedulable=("NotEnoughResources", f"2/3 tasks in gang unschedulable: {fit}{why}"))
    told(stack, job, "GangIncomplete", GPU)
    assert stack.job(job["id"])["phase"] == "Waiting"

    for number, pod in enumerate(pods(stack, job)):
        scheduler.place(pod, f"{pool}-{number}")
    scheduler.says("Running", Scheduled=("tasks in gang are ready to be scheduled", ""))
    running = stack.wait(job["id"], "Running", "Succeeded")
    assert GPU not in running["reason"]["sentence"]  # the old condition stays, and is not shown
    stack.wait(job["id"], "Succeeded")
    wait_for(lambda: scheduler.group() is None, 60, "the pod group to go")
