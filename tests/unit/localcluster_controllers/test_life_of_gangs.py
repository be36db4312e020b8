"""Gangs over the real store and controllers: all or none, in order, and who has to make room."""

import pytest

from tests.unit.localcluster_controllers.harness import Cluster, Obj, gang, jobset, pod_group, rjob, run

CONDITION = "PodGroupInitiallyScheduled"


def create_gang(
    cluster: Cluster, name: str, pods: int = 2, minimum: int | None = None, cpu: str = "1", **pod: object
) -> None:
    cluster.create("PodGroup", pod_group(name, minimum or pods))
    cluster.create("JobSet", jobset(name, rjob("node", pods=pods, cpu=cpu, pod=gang(name) | pod)))


def on_machines(cluster: Cluster, name: str) -> list[Obj]:
    return [pod for pod in cluster.live(f"{name}-node-0") if pod["spec"].get("nodeName")]


def test_twenty_gangs_of_two_on_eight_slots() -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in ("m0", "m1"):
            cluster.machine(name, cpu="4")
        names = [f"g{number:02}" for number in range(20)]
        for name in names:
            create_gang(cluster, name)
        subscription = cluster.store.subscribe("Pod")
        most, started, finished = 0, [], set()
        while len(finished) < 20:
            await subscription.wait()
            subscription.take()
            running = {name: on_machines(cluster, name) for name in names}
            most = max(most, sum(len(pods) for pods in running.values()))
            assert all(len(pods) in (0, 2) or name in finished for name, pods in running.items())
            for name, pods in running.items():
                if pods and name not in started:
                    started.append(name)
                    finished.add(name)
                    cluster.set_phase(pods, "Succeeded")
        subscription.close()
        await cluster.until(lambda: all(cluster.is_true("JobSet", name, "Completed") for name in names))
        assert started == names
        assert most <= 8

    run(scenario)


def test_never_more_than_fits_and_no_gang_in_part() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        cluster.machine("m1", cpu="4")
        for number in range(6):
            create_gang(cluster, f"g{number}", pods=3)
        await cluster.settle()
        counts = [len(on_machines(cluster, f"g{number}")) for number in range(6)]
        assert counts == [3, 3, 0, 0, 0, 0]
        cluster.set_phase(on_machines(cluster, "g0")[:2], "Succeeded")
        await cluster.settle()
        assert len(on_machines(cluster, "g2")) == 3

    run(scenario)


def test_what_a_waiting_gang_says() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        cluster.machine("m1", cpu="4", labels={"pool": "other"})
        create_gang(cluster, "g", pods=3, cpu="3", nodeSelector={"kubernetes.io/hostname": "m0"})
        await cluster.settle()
        short = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
        whole = f"{short}, pod group preemption: No preemption victims found for incoming preemptor"
        messages = [pod["status"]["conditions"][0]["message"] for pod in cluster.live()]
        cause = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
        assert sorted(messages) == sorted([f"pod group is unschedulable, {whole}", cause, short])
        assert {pod["status"]["conditions"][0]["reason"] for pod in cluster.live()} == {"Unschedulable"}
        condition = cluster.status("PodGroup", "g")["conditions"][0]
        assert (condition["type"], condition["status"]) == (CONDITION, "False")
        assert (condition["reason"], condition["message"]) == ("Unschedulable", whole)
        pod = next(pod for pod in cluster.live() if pod["status"]["conditions"][0]["message"] == cause)
        assert ("FailedScheduling", cause) in cluster.events("Pod", pod["metadata"]["name"])
        version = cluster.store.version
        cluster.create("ConfigMap", {"metadata": {"name": "x", "namespace": "default"}})
        await cluster.settle()
        assert int(cluster.store.version) == int(version) + 1, "a waiting gang costs nothing"

    run(scenario)


def test_a_placed_gang_says_so_once_and_for_all() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        create_gang(cluster, "g")
        await cluster.until(lambda: cluster.is_true("PodGroup", "g", CONDITION))
        assert cluster.status("PodGroup", "g")["conditions"][0]["message"] == ""
        pod = on_machines(cluster, "g")[0]
        assert (
            cluster.store.get("Pod", "default", pod["metadata"]["name"])["status"]["conditions"][0]["status"] == "True"
        )
        text = f"Successfully assigned default/{pod['metadata']['name']} to m0"
        assert ("Scheduled", text) in cluster.events("Pod", pod["metadata"]["name"])

    run(scenario)


def test_it_waits_until_all_members_exist() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="40")
        create_gang(cluster, "g", pods=2, minimum=3)
        await cluster.settle()
        assert not on_machines(cluster, "g")
        assert "conditions" not in cluster.status("PodGroup", "g")
        assert all("conditions" not in pod["status"] for pod in cluster.live())
        cluster.patch("PodGroup", "g", {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
        await cluster.until(lambda: len(on_machines(cluster, "g")) == 2)

    run(scenario)


def test_a_pod_waits_for_its_group_to_exist() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0")
        cluster.create("JobSet", jobset("g", rjob("node", pod=gang("g"))))
        await cluster.settle()
        assert not on_machines(cluster, "g")
        cluster.create("PodGroup", pod_group("g", 1))
        await cluster.until(lambda: on_machines(cluster, "g"))

    run(scenario)


def test_a_large_gang_is_not_starved_by_small_ones() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        create_gang(cluster, "first", pods=2)
        await cluster.settle()
        create_gang(cluster, "large", pods=4)
        await cluster.settle()
        create_gang(cluster, "small", pods=1)
        await cluster.settle()
        assert [len(on_machines(cluster, name)) for name in ("first", "large", "small")] == [2, 0, 0]
        cause = "0/1 nodes are available: 1 node(s) were kept for a job that is ahead in the queue."
        assert cluster.live("small-node-0")[0]["status"]["conditions"][0]["message"] == cause
        cluster.set_phase(on_machines(cluster, "first"), "Succeeded")
        await cluster.settle()
        assert [len(on_machines(cluster, name)) for name in ("large", "small")] == [4, 0]
        cluster.set_phase(on_machines(cluster, "large")[:1], "Succeeded")
        await cluster.until(lambda: on_machines(cluster, "small"))

    run(scenario)


def test_a_later_job_uses_machines_that_the_first_cannot() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("gpu", cpu="4", labels={"pool": "gpu"})
        cluster.machine("cpu", cpu="4", labels={"pool": "cpu"})
        create_gang(cluster, "a", pods=1, cpu="3", nodeSelector={"pool": "gpu"})
        await cluster.settle()
        create_gang(cluster, "b", pods=1, cpu="3", nodeSelector={"pool": "gpu"})
        create_gang(cluster, "c", pods=1, cpu="3")
        await cluster.settle()
        assert [len(on_machines(cluster, name)) for name in "abc"] == [1, 0, 1]
        assert on_machines(cluster, "c")[0]["spec"]["nodeName"] == "cpu"

    run(scenario)


def test_what_can_never_run_holds_nobody_up() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        create_gang(cluster, "giant", pods=9)
        await cluster.settle()
        create_gang(cluster, "small", pods=2)
        await cluster.until(lambda: len(on_machines(cluster, "small")) == 2)
        assert not on_machines(cluster, "giant")

    run(scenario)


def test_a_launcher_that_comes_later_does_not_wait_behind_others() -> None:
    """The workers hold what the next gang waits for, and end only when their launcher has run."""

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        cluster.create("PodGroup", pod_group("mpi", 3))
        launcher = rjob("launcher", dependsOn=[{"name": "node", "status": "Ready"}])
        cluster.create("JobSet", jobset("mpi", rjob("node", pods=3, pod=gang("mpi")), launcher))
        await cluster.until(lambda: len(on_machines(cluster, "mpi")) == 3)
        create_gang(cluster, "next", pods=4)
        await cluster.settle()
        cluster.set_phase(on_machines(cluster, "mpi"), "Running")
        await cluster.until(lambda: [p for p in cluster.live("mpi-launcher-0") if p["spec"].get("nodeName")])
        assert not on_machines(cluster, "next")

    run(scenario)


def test_a_started_job_gets_what_it_needs_even_beside_a_more_important_one() -> None:
    """The important one waits for what the workers hold, and may not take it from them."""

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="4")
        cluster.create("PriorityClass", {"metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"})
        cluster.create("PodGroup", pod_group("mpi", 3))
        launcher = rjob("launcher", dependsOn=[{"name": "node", "status": "Ready"}])
        cluster.create("JobSet", jobset("mpi", rjob("node", pods=3, pod=gang("mpi")), launcher))
        await cluster.until(lambda: len(on_machines(cluster, "mpi")) == 3)
        create_gang(cluster, "important", pods=4, priorityClassName="high")
        await cluster.settle()
        cluster.set_phase(on_machines(cluster, "mpi"), "Running")
        await cluster.until(lambda: [p for p in cluster.live("mpi-launcher-0") if p["spec"].get("nodeName")])
        assert not on_machines(cluster, "important")

    run(scenario)


def test_a_replacement_is_placed_alone_and_first() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="3")
        cluster.create("PodGroup", pod_group("g", 3))
        cluster.create("JobSet", jobset("g", rjob("node", pods=3, pod=gang("g"), backoffLimit=6)))
        await cluster.until(lambda: len(on_machines(cluster, "g")) == 3)
        create_gang(cluster, "next", pods=1)
        await cluster.settle()
        cluster.patch("Node", "m0", {"spec": {"unschedulable": True}})
        failed = on_machines(cluster, "g")[0]
        cluster.set_phase([failed], "Failed", 1)
        await cluster.until(lambda: len(cluster.live("g-node-0")) == 3)
        await cluster.settle()
        assert (len(on_machines(cluster, "g")), len(on_machines(cluster, "next"))) == (2, 0)
        cluster.patch("Node", "m0", {"spec": {"unschedulable": None}})
        await cluster.until(lambda: len(on_machines(cluster, "g")) == 3)
        assert not on_machines(cluster, "next")

    run(scenario)


def test_a_pod_being_deleted_frees_its_machine_only_when_it_has_ended() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", kind="process", cpu="1")
        create_gang(cluster, "a", pods=1)
        await cluster.until(lambda: on_machines(cluster, "a"))
        create_gang(cluster, "b", pods=1)
        pod = on_machines(cluster, "a")[0]
        cluster.set_phase([pod], "Running")
        cluster.store.delete("JobSet", "default", "a")
        await cluster.until(lambda: cluster.get("Job", "a-node-0") is None)
        await cluster.settle()
        assert cluster.store.get("Pod", "default", pod["metadata"]["name"])["metadata"]["deletionTimestamp"]
        assert not on_machines(cluster, "b")
        cluster.store.delete("Pod", "default", pod["metadata"]["name"], grace=0)
        await cluster.until(lambda: on_machines(cluster, "b"))

    run(scenario)


@pytest.mark.parametrize(("mode", "left"), [("all", 0), ("single", 2)])
def test_preemption(mode: str, left: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        for number in range(4):
            cluster.machine(f"m{number}", cpu="1")
        cluster.create("PriorityClass", {"metadata": {"name": "high"}, "value": 100})
        cluster.create("PodGroup", pod_group("lo", 4, disruptionMode={mode: {}}))
        cluster.create("JobSet", jobset("lo", rjob("node", pods=4, pod=gang("lo"), backoffLimit=6)))
        await cluster.until(lambda: len(on_machines(cluster, "lo")) == 4)
        await cluster.settle()
        victims_before = {pod["metadata"]["uid"] for pod in on_machines(cluster, "lo")}
        create_gang(cluster, "hi", pods=2, priorityClassName="high")
        await cluster.until(lambda: len(on_machines(cluster, "hi")) == 2)
        survivors = {pod["metadata"]["uid"] for pod in on_machines(cluster, "lo")} & victims_before
        assert len(survivors) == left
        text = "Preempted by podgroup " + cluster.get("PodGroup", "hi")["metadata"]["uid"] + " on node cluster"
        assert [e["message"] for e in cluster.all("Event") if e["reason"] == "Preempted"] == [text] * (4 - left)

    run(scenario)


def test_equal_priority_is_never_preempted() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="1")
        create_gang(cluster, "a", pods=1)
        await cluster.until(lambda: on_machines(cluster, "a"))
        create_gang(cluster, "b", pods=1)
        await cluster.settle()
        assert not on_machines(cluster, "b")
        assert len(on_machines(cluster, "a")) == 1

    run(scenario)


def test_higher_priority_goes_first() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0", cpu="1")
        never = {"metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"}
        cluster.create("PriorityClass", never)
        create_gang(cluster, "now", pods=1)
        await cluster.until(lambda: on_machines(cluster, "now"))
        create_gang(cluster, "low", pods=1)
        create_gang(cluster, "high", pods=1, priorityClassName="high")
        await cluster.settle()
        assert len(on_machines(cluster, "now")) == 1
        cluster.set_phase(on_machines(cluster, "now"), "Succeeded")
        await cluster.until(lambda: on_machines(cluster, "high"))
        assert not on_machines(cluster, "low")

    run(scenario)


def test_gated_pods_wait_and_say_so() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0")
        cluster.create("JobSet", jobset("js", rjob("node", pod={"schedulingGates": [{"name": "acme.example/gate"}]})))
        await cluster.until(lambda: cluster.live() and cluster.live()[0]["status"].get("conditions"))
        condition = cluster.live()[0]["status"]["conditions"][0]
        assert (condition["reason"], condition["message"]) == (
            "SchedulingGated",
            "Scheduling is blocked due to non-empty scheduling gates",
        )
        cluster.patch("Pod", cluster.live()[0]["metadata"]["name"], {"spec": {"schedulingGates": None}})
        await cluster.until(lambda: on_machines(cluster, "js"))

    run(scenario)


def test_a_group_stays_until_its_pods_have_ended() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m0")
        create_gang(cluster, "g")
        await cluster.until(lambda: len(on_machines(cluster, "g")) == 2)
        await cluster.settle()
        cluster.store.delete("PodGroup", "default", "g")
        await cluster.settle()
        assert cluster.get("PodGroup", "g")["metadata"]["deletionTimestamp"]
        cluster.set_phase(cluster.pods(), "Succeeded")
        await cluster.until(lambda: cluster.get("PodGroup", "g") is None)

    run(scenario)
