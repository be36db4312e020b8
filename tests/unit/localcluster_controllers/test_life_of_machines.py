"""Machines that fall silent, are cordoned, tainted and deleted, over the real store and controllers."""

import pytest

from tests.unit.localcluster_controllers.harness import Cluster, gang, jobset, pod_group, rjob, run

START = 1_900_000_000.0


def heartbeat(cluster: Cluster, name: str, stamp: str) -> None:
    lease = {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": {"renewTime": stamp}}
    if cluster.store.get("Namespace", None, "kube-node-lease") is None:
        cluster.create("Namespace", {"metadata": {"name": "kube-node-lease"}})
    if cluster.store.get("Lease", "kube-node-lease", name) is None:
        cluster.create("Lease", lease)
    else:
        cluster.store.patch("Lease", "kube-node-lease", name, {"spec": lease["spec"]})


def placed(cluster: Cluster, job: str = "") -> list[dict]:
    return [pod for pod in cluster.live(job) if pod["spec"].get("nodeName")]


def test_a_silent_machine_becomes_unknown_and_comes_back() -> None:
    now = [START]

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", kind="process")
        heartbeat(cluster, "m", "2030-03-17T17:46:40.000001Z")
        cluster.create("JobSet", jobset("js", rjob("node")))
        pod = (await cluster.until(lambda: placed(cluster)))[0]
        cluster.set_phase([pod], "Running")
        await cluster.settle()
        now[0] += 39
        cluster.patch("Node", "m", {"metadata": {"labels": {"look": "1"}}})
        await cluster.settle()
        assert cluster.conditions("Node", "m")["Ready"] == ("True", "")
        now[0] += 1
        cluster.patch("Node", "m", {"metadata": {"labels": {"look": "2"}}})
        await cluster.until(lambda: cluster.conditions("Node", "m")["Ready"] == ("Unknown", "NodeStatusUnknown"))
        await cluster.settle()
        taints = {(t["key"], t["effect"]) for t in cluster.store.get("Node", None, "m")["spec"]["taints"]}
        assert taints == {
            ("node.kubernetes.io/unreachable", "NoSchedule"),
            ("node.kubernetes.io/unreachable", "NoExecute"),
        }
        assert cluster.conditions("Pod", pod["metadata"]["name"])["Ready"][0] == "False"
        assert ("NodeNotReady", "Node is not ready") in cluster.events("Pod", pod["metadata"]["name"])
        cluster.patch("Node", "m", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "status")
        heartbeat(cluster, "m", "2030-03-17T17:47:20.000001Z")
        await cluster.settle()
        assert "taints" not in cluster.store.get("Node", None, "m")["spec"]
        assert placed(cluster)

    run(scenario, clock=lambda: now[0])


def test_pods_leave_a_silent_machine_after_five_minutes_and_end_when_it_is_deleted() -> None:
    now = [START]

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", kind="process")
        heartbeat(cluster, "m", "2030-03-17T17:46:40.000001Z")
        cluster.create("JobSet", jobset("js", rjob("node"), failurePolicy={"maxRestarts": 1}))
        pod = (await cluster.until(lambda: placed(cluster)))[0]
        cluster.set_phase([pod], "Running")
        await cluster.settle()
        for seconds in (40, 300):
            now[0] += seconds
            cluster.patch("Node", "m", {"metadata": {"labels": {"look": str(seconds)}}})
            await cluster.settle()
        name = pod["metadata"]["name"]
        assert cluster.conditions("Pod", name)["DisruptionTarget"] == ("True", "DeletionByTaintManager")
        assert cluster.get("Pod", name)["metadata"]["deletionTimestamp"]
        assert cluster.conditions("Job", "js-node-0").keys() == {"FailureTarget"}, "waits for the end of the pod"
        cluster.machine("spare")
        cluster.store.delete("Node", None, "m")
        await cluster.until(lambda: [p for p in placed(cluster) if p["spec"]["nodeName"] == "spare"])
        assert cluster.status("JobSet", "js")["restarts"] == 1

    run(scenario, clock=lambda: now[0])


def test_pods_of_a_deleted_machine_fail_and_the_job_goes_on() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="1")
        cluster.create("PodGroup", pod_group("js", 2))
        pods = rjob("node", pods=2, pod=gang("js"), backoffLimit=3)
        cluster.machine("m1", cpu="1")
        cluster.create("JobSet", jobset("js", pods))
        await cluster.until(lambda: len(placed(cluster)) == 2)
        await cluster.settle()
        cluster.set_phase(cluster.pods(), "Running")
        await cluster.settle()
        lost = next(pod for pod in cluster.pods() if pod["spec"]["nodeName"] == "m0")["metadata"]["name"]
        cluster.store.delete("Node", None, "m0")
        await cluster.until(lambda: cluster.status("Pod", lost)["phase"] == "Failed")
        await cluster.settle()
        condition = next(c for c in cluster.status("Pod", lost)["conditions"] if c["type"] == "DisruptionTarget")
        assert (condition["reason"], condition["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
        assert cluster.status("Job", "js-node-0")["failed"] == 1
        cluster.machine("m2", cpu="1")
        await cluster.until(lambda: len(placed(cluster)) == 2)

    run(scenario)


def test_a_cordoned_machine_keeps_its_pods_and_takes_no_more() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("JobSet", jobset("a", rjob("node")))
        await cluster.until(lambda: placed(cluster))
        cluster.patch("Node", "m", {"spec": {"unschedulable": True}})
        cluster.create("JobSet", jobset("b", rjob("node")))
        await cluster.settle()
        assert len(placed(cluster)) == 1
        taints = cluster.store.get("Node", None, "m")["spec"]["taints"]
        assert [(t["key"], t["effect"]) for t in taints] == [("node.kubernetes.io/unschedulable", "NoSchedule")]
        message = cluster.live("b-node-0")[0]["status"]["conditions"][0]["message"]
        assert message == (
            "0/1 nodes are available: 1 node(s) were unschedulable. "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )
        cluster.patch("Node", "m", {"spec": {"unschedulable": None}})
        await cluster.until(lambda: len(placed(cluster)) == 2)

    run(scenario)


@pytest.mark.parametrize(("tolerations", "stay"), [([], False), ([{"key": "maintenance", "operator": "Exists"}], True)])
def test_a_taint_with_no_execute_drives_pods_out(tolerations: list[dict], stay: bool) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("JobSet", jobset("js", rjob("node", backoffLimit=3, pod={"tolerations": tolerations})))
        pod = (await cluster.until(lambda: placed(cluster)))[0]["metadata"]["uid"]
        cluster.patch("Node", "m", {"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})
        await cluster.settle()
        assert (pod in [p["metadata"]["uid"] for p in placed(cluster)]) is stay
        if not stay:
            messages = [event["message"] for event in cluster.all("Event") if event["reason"] == "TaintManagerEviction"]
            assert messages[0].startswith("Marking for deletion Pod default/js-node-0-0-")

    run(scenario)


def test_a_machine_that_only_plays_needs_no_heartbeat() -> None:
    now = [START]

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        await cluster.settle()
        now[0] += 1000
        cluster.patch("Node", "m", {"metadata": {"labels": {"look": "1"}}})
        await cluster.settle()
        assert cluster.conditions("Node", "m")["Ready"][0] == "True"

    run(scenario, clock=lambda: now[0])


def test_machines_are_announced() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        cluster.machine("m")
        await cluster.until(lambda: cluster.events("Node", "m"))
        cluster.store.delete("Node", None, "m")
        await cluster.settle()
        assert sorted(cluster.events("Node", "m")) == [
            ("RegisteredNode", "Node m event: Registered Node m in Controller"),
            ("RemovingNode", "Node m event: Removing Node m from Controller"),
        ]

    run(scenario)


def test_a_new_machine_is_used_at_once() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.create("JobSet", jobset("js", rjob("node")))
        await cluster.until(lambda: cluster.live() and cluster.live()[0]["status"].get("conditions"))
        assert cluster.live()[0]["status"]["conditions"][0]["message"] == "no nodes available to schedule pods"
        cluster.machine("m")
        await cluster.until(lambda: placed(cluster))

    run(scenario)


def test_a_pod_waits_for_its_claim() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        cluster.create("JobSet", jobset("js", rjob("node", pod={"volumes": volumes})))
        await cluster.until(lambda: cluster.live() and cluster.live()[0]["status"].get("conditions"))
        message = cluster.live()[0]["status"]["conditions"][0]["message"]
        assert message == '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        cluster.create("PersistentVolumeClaim", {"metadata": {"name": "data", "namespace": "default"}, "spec": spec})
        await cluster.until(lambda: placed(cluster))

    run(scenario)
