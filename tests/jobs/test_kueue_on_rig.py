"""Kueue's own controller on a real Kubernetes decides when our jobs run: quota, order, preemption by priority, and a hold that it does not undo."""

from collections.abc import Iterator

import pytest

from tests.jobs.gangs_on_rig import GPU, TRAINER, part, pods, runtime, submit, told
from tests.jobs.gangs_on_rig import pool as pool
from tests.rig import programs
from tests.rig.api import wait_until
from tests.rig.instance import USER, instance_on
from tests.rig.manifests import life
from tests.rig.rig import Rig, obstacle
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.xdist_group("own-rig")
KUEUE = "kueue.x-k8s.io/v1beta2"
LABEL = "kueue.x-k8s.io"
QUOTA = 16  # GPUs: two nodes of eight, on machines that have room for four
CALL = ("get", "visibility.kueue.x-k8s.io", "localqueues/pendingworkloads")


@pytest.fixture(scope="module")
def rig(own_rig: Rig) -> Iterator[Rig]:
    """A cluster without trainui that Kueue watches: its webhooks would be asked about the jobs of all other tests."""
    if why := obstacle(programs.KUEUE):
        pytest.skip(why)
    with own_rig.kueue():
        yield own_rig


@pytest.fixture(scope="module")
def instance(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """An instance on that cluster."""
    with instance_on(rig, tmp_path_factory.mktemp("kueue") / "data") as started:
        rig.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": started.project}})
        yield started


class Queue:
    """A queue of a test's own, whose flavor has all its machines and half of their GPUs; jobs for it, and what Kueue makes of them."""

    def __init__(self, rig: Rig, stack: Stack, pool: str) -> None:
        self.rig, self.stack, self.name, self.flavor = rig, stack, f"queue-{pool}", f"flavor-{pool}"
        quota = {"name": self.flavor, "resources": [{"name": GPU, "nominalQuota": str(QUOTA)}]}
        self._make("ResourceFlavor", self.flavor, nodeLabels={"pool": pool})
        self._make(
            "ClusterQueue",
            f"cluster-{self.name}",
            namespaceSelector={},
            resourceGroups=[{"coveredResources": [GPU], "flavors": [quota]}],
            preemption={"withinClusterQueue": "LowerPriority"},
        )
        self._make("LocalQueue", self.name, stack.project, clusterQueue=f"cluster-{self.name}")
        # The pods name no machines: that is for the flavor to do. They run until the test ends them.
        self.runtime = runtime(rig, pool, "in-tree", [part("node", pool, nodeSelector={})])

    def _make(self, kind: str, name: str, namespace: str = "", **spec: object) -> None:
        where = {"namespace": namespace} if namespace else {}
        self.rig.admin.apply({"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **where}, "spec": spec})

    def submit(self, name: str, nodes: int = 2, priority: int = 0) -> Json:
        """Submit a job of so many nodes of eight GPUs."""
        labels = {f"{LABEL}/queue-name": self.name}
        if priority:
            named = f"{self.name}-{priority}"
            about = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": named}}
            self.rig.admin.apply(about | {"value": priority})
            labels[f"{LABEL}/priority-class"] = named
        return submit(self.stack, self.runtime, name, nodes, labels)

    def workload(self, job: Json) -> Json | None:
        """Return Kueue's Workload of a job."""
        found = self.rig.admin.list(KUEUE, "Workload", self.stack.project)
        owned = [w for w in found if any(o["name"] == job["name"] for o in w["metadata"]["ownerReferences"])]
        return owned[0] if owned else None

    def end(self, job: Json) -> None:
        """Let the pods of a running job end, and wait for the end of the job."""
        for pod in pods(self.stack, job):
            self.rig.admin.patch(pod, {"metadata": {"annotations": life(run_for="0s")}})
        self.stack.wait(job["id"], "Succeeded")

    def ask(self, job: Json, action: str) -> None:
        """Ask trainui for an action on a job."""
        with self.stack.client() as client:
            assert client.post(f"/api/v1/trainjobs/{job['id']}/{action}").status_code < 300

    def held(self, job: Json) -> tuple[str, bool, bool]:
        """Return the phase of a job, whether its Workload is active, and whether its TrainJob is suspended."""
        trainjob = self.rig.admin.get(TRAINER, "TrainJob", self.stack.project, job["name"])
        workload = self.workload(job)
        assert trainjob is not None
        assert workload is not None
        return self.stack.job(job["id"])["phase"], workload["spec"]["active"], trainjob["spec"]["suspend"]

    def quota(self, pending: int) -> Json | None:
        """Return the quota as trainui shows it, once so many jobs wait for it."""
        with self.stack.client() as client:
            quotas = client.get("/api/v1/queues").json()["quotas"]
        return next((q for q in quotas if (q["name"], q["pending"]) == (f"cluster-{self.name}", pending)), None)

    def holders(self) -> list[tuple[str, int]]:
        """Return which jobs hold machines that they got here, and their priority."""
        with self.stack.client() as client:
            queues = client.get("/api/v1/queues").json()["queues"]
        [own] = [found for found in queues if found["name"] == f"{self.stack.project}/{self.name}"]
        return [(line["job"]["name"], line["priority"]) for line in own["holding"]["items"]]

    def place(self, job: Json, position: int, gpus_ahead: int) -> None:
        """Wait until the job stands at this place of its queue, as Kueue tells it: it is approximate until then."""
        wanted = {"kind": "kueue", "queue": f"{self.stack.project}/{self.name}", "approximate": False}
        wanted |= {"position": position, "accelerators_ahead": gpus_ahead}
        seen: Json = {}

        def there() -> bool:
            nonlocal seen
            seen = self.stack.job(job["id"])["place"] or {}
            return seen.items() >= wanted.items()

        try:
            wait_for(there, 60, f"{job['name']} to be number {position} of its queue")
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {seen}") from None


@pytest.fixture
def queue(rig: Rig, instance: Stack, pool: str) -> Iterator[Queue]:
    """A queue, after whose test nothing that trainui asked for was denied."""
    yield Queue(rig, instance, pool)
    assert [call for call in rig.calls(USER) if call.code in (401, 403)] == []


def test_a_job_waits_for_quota_and_its_children_follow_what_kueue_writes(
    rig: Rig, instance: Stack, queue: Queue, pool: str
) -> None:
    first = queue.submit("first")
    instance.wait(first["id"], "Running")
    jobset = rig.admin.get("jobset.x-k8s.io/v1alpha2", "JobSet", instance.project, first["name"])
    assert jobset is not None
    template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {"pool": pool}
    assert template["metadata"]["labels"][f"{LABEL}/podset"] == "node"
    assert {pod["spec"]["nodeName"].rpartition("-")[0] for pod in pods(instance, first)} == {pool}

    second = queue.submit("second")
    third, fourth = queue.submit("third", nodes=1, priority=-1), queue.submit("fourth", nodes=1, priority=-2)
    short = f"16 more {GPU} needed in flavor {queue.flavor} (asks for 16, 0 available)"
    told(instance, second, "WaitingForQuota", f"Waits in queue {queue.name}: {short}.")
    assert instance.job(second["id"])["phase"] == "Queued"
    queue.place(second, 1, 0)
    queue.place(third, 2, 16)
    queue.place(fourth, 3, 24)
    assert CALL in [(call.verb, call.group, call.resource) for call in rig.calls(USER)]
    queue.ask(third, "cancel")
    instance.wait(third["id"], "Cancelled")
    wait_for(lambda: queue.workload(third) is None, 60, "the Workload of a cancelled job to go")
    queue.place(fourth, 2, 16)
    counted = wait_until(lambda: queue.quota(pending=2), "the quota to be counted")
    assert counted["uses"] == [{"resource": f"{GPU} ({queue.flavor})", "used": "16", "limit": "16", "percent": 100}]

    queue.end(first)
    began = instance.wait(second["id"], "Running")["startup"]
    assert [phase["name"] for phase in began][:2] == ["queued", "placed"]
    assert instance.job(fourth["id"])["phase"] == "Queued"
    queue.end(second)
    instance.wait(fourth["id"], "Running")
    queue.end(fourth)
    done = queue.workload(fourth)
    assert done is not None
    assert [c["reason"] for c in done["status"]["conditions"] if c["type"] == "Finished"] == ["Succeeded"]


def test_a_job_that_was_preempted_says_so_and_runs_later(instance: Stack, queue: Queue) -> None:
    low = queue.submit("low")
    instance.wait(low["id"], "Running")
    before = {pod["metadata"]["uid"] for pod in pods(instance, low)}
    high = queue.submit("high", priority=1000)
    taken = instance.wait(low["id"], "Preempted")
    assert taken["reason"]["code"] == "PreemptedByKueue"
    assert f"make room for a workload of higher priority (queue {queue.name})" in taken["reason"]["sentence"]
    instance.wait(high["id"], "Running")
    queue.place(low, 1, 0)
    assert instance.job(low["id"])["phase"] == "Preempted"
    assert queue.holders() == [(high["name"], 1000)]
    queue.ask(low, "suspend")
    instance.wait(low["id"], "Suspended")
    queue.ask(low, "resume")
    instance.wait(low["id"], "Preempted")
    queue.end(high)
    again = instance.wait(low["id"], "Running")
    assert again["reason"]["code"] == "AllReady"
    assert not before & {pod["metadata"]["uid"] for pod in pods(instance, low)}
    queue.end(low)


def test_suspend_and_resume_go_through_the_workload_and_hold(rig: Rig, instance: Stack, queue: Queue) -> None:
    held = queue.submit("held")
    instance.wait(held["id"], "Running")
    queue.ask(held, "suspend")
    reason = instance.wait(held["id"], "Suspended")["reason"]
    assert (reason["code"], "held by alice" in reason["sentence"]) == ("WorkloadDeactivated", True)
    wait_until(lambda: not pods(instance, held), "its pods to go")
    # Another one comes, runs and ends: there was room twice, and the first was not let in.
    other = queue.submit("other")
    instance.wait(other["id"], "Running")
    queue.end(other)
    assert queue.held(held) == ("Suspended", False, True)

    blocker = queue.submit("blocker")
    instance.wait(blocker["id"], "Running")
    queue.ask(held, "resume")
    told(instance, held, "WaitingForQuota", f"16 more {GPU} needed")
    queue.place(held, 1, 0)
    assert queue.held(held) == ("Queued", True, True)
    # Held while it waits, too: the queue is free, and it does not start.
    queue.ask(held, "suspend")
    instance.wait(held["id"], "Suspended")
    queue.end(blocker)
    another = queue.submit("another")
    instance.wait(another["id"], "Running")
    assert queue.held(held) == ("Suspended", False, True)
    queue.end(another)
    # By hand, as an administrator of the queue does it.
    workload = queue.workload(held)
    assert workload is not None
    rig.admin.patch({"apiVersion": KUEUE, "kind": "Workload"} | workload, {"spec": {"active": True}})
    instance.wait(held["id"], "Running")
    queue.end(held)
