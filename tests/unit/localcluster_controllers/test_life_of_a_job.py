"""The whole life of Jobs over the real store and controllers."""

import pytest

from tests.unit.localcluster_controllers.harness import Cluster, Obj, pod_template, run
from trainui.localcluster.controllers.job.pods import TRACKING
from trainui.localcluster.errors import ApiError


def job(name: str = "j", cpu: str = "1", pod: Obj | None = None, **spec: object) -> Obj:
    template = pod_template(cpu, restartPolicy="Never", **(pod or {}))
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": template, **spec}}


def indexed(pods: int = 2, **spec: object) -> Obj:
    return job(completionMode="Indexed", parallelism=pods, completions=pods, **spec)


def indexes(pods: list[Obj]) -> list[str]:
    return sorted(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in pods)


def test_failed_pods_are_replaced_until_the_limit() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(1, backoffLimit=2))
        for failures in range(3):
            pod = (await cluster.until(lambda: cluster.live("j")))[0]
            assert cluster.status("Job", "j").get("failed", 0) == failures
            cluster.set_phase([pod], "Failed", 1)
            await cluster.until(lambda n=failures: cluster.status("Job", "j").get("failed") == n + 1)
        await cluster.until(lambda: cluster.is_true("Job", "j", "Failed"))
        await cluster.settle()
        assert len(cluster.pods()) == 3
        assert cluster.conditions("Job", "j") == {
            "FailureTarget": ("True", "BackoffLimitExceeded"),
            "Failed": ("True", "BackoffLimitExceeded"),
        }
        assert ("BackoffLimitExceeded", "Job has reached the specified backoff limit") in cluster.events("Job", "j")

    run(scenario)


def test_only_the_failed_index_is_replaced() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(3))
        pods = await cluster.until(lambda: cluster.live("j") if len(cluster.live("j")) == 3 else None)
        cluster.set_phase(pods, "Running")
        cluster.set_phase(pods[1:2], "Failed", 1)
        await cluster.until(lambda: len(cluster.pods()) == 4 and len(cluster.live("j")) == 3)
        assert indexes(cluster.live("j")) == ["0", "1", "2"]
        assert {pod["metadata"]["uid"] for pod in (pods[0], pods[2])} <= {
            p["metadata"]["uid"] for p in cluster.live("j")
        }

    run(scenario)


def test_a_pod_deleted_by_hand_counts_once() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(1))
        pod = (await cluster.until(lambda: cluster.live("j")))[0]
        await cluster.settle()
        cluster.store.delete("Pod", "default", pod["metadata"]["name"])
        await cluster.until(
            lambda: cluster.live("j") and cluster.live("j")[0]["metadata"]["uid"] != pod["metadata"]["uid"]
        )
        await cluster.settle()
        assert cluster.status("Job", "j")["failed"] == 1
        assert len(cluster.pods()) == 1

    run(scenario)


def test_with_replacement_policy_failed_a_new_pod_waits_for_the_end_of_the_old() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", kind="process")
        cluster.create("Job", indexed(1, podReplacementPolicy="Failed"))
        pod = (await cluster.until(lambda: [p for p in cluster.live("j") if p["spec"].get("nodeName")]))[0]
        cluster.set_phase([pod], "Running")
        cluster.store.delete("Pod", "default", pod["metadata"]["name"])
        await cluster.settle()
        assert (len(cluster.pods()), cluster.status("Job", "j")["terminating"]) == (1, 1)
        assert cluster.status("Job", "j")["failed"] == 0
        cluster.set_phase([pod], "Failed", 143)
        await cluster.until(lambda: cluster.live("j"))
        cluster.store.delete("Pod", "default", pod["metadata"]["name"], grace=0)
        await cluster.settle()
        assert cluster.status("Job", "j")["failed"] == 1
        assert len(cluster.pods()) == 1

    run(scenario)


def test_no_outcome_is_lost_with_its_pod() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(2))
        pods = await cluster.until(lambda: cluster.live("j") if len(cluster.live("j")) == 2 else None)
        for pod in pods:
            cluster.set_phase([pod], "Succeeded")
            cluster.store.delete("Pod", "default", pod["metadata"]["name"], grace=0)
        await cluster.until(lambda: cluster.is_true("Job", "j", "Complete"))
        await cluster.settle()
        assert cluster.status("Job", "j")["completedIndexes"] == "0,1"
        assert not cluster.pods()

    run(scenario)


@pytest.mark.parametrize(
    ("spec", "completions"), [({"completions": 3, "parallelism": 2}, 3), ({"parallelism": 2}, None), ({}, 1)]
)
def test_non_indexed(spec: Obj, completions: int | None) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", job(**spec))
        wanted = min(completions or 2, spec.get("parallelism", 1))
        await cluster.until(lambda: len(cluster.live("j")) == wanted)
        cluster.set_phase(cluster.live("j")[:1], "Succeeded")
        await cluster.settle()
        if completions is None:
            assert len(cluster.live("j")) == 1
            cluster.set_phase(cluster.live("j"), "Succeeded")
        while cluster.live("j"):
            cluster.set_phase(cluster.live("j")[:1], "Succeeded")
            await cluster.settle()
        await cluster.until(lambda: cluster.is_true("Job", "j", "Complete"))
        assert cluster.status("Job", "j")["succeeded"] == (completions or 2)
        assert "completedIndexes" not in cluster.status("Job", "j")

    run(scenario)


def test_deadline_ends_a_running_job() -> None:
    now = [1_900_000_000.0]

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(1, activeDeadlineSeconds=100))
        await cluster.until(lambda: cluster.live("j"))
        await cluster.settle()
        now[0] += 101
        cluster.patch("Job", "j", {"metadata": {"labels": {"poke": "1"}}})
        await cluster.until(lambda: cluster.is_true("Job", "j", "Failed"))
        await cluster.settle()
        assert cluster.conditions("Job", "j")["Failed"] == ("True", "DeadlineExceeded")
        assert not cluster.pods()

    run(scenario, clock=lambda: now[0])


def test_deadline_looks_by_itself() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(1, activeDeadlineSeconds=1))
        await cluster.until(lambda: cluster.is_true("Job", "j", "Failed"))

    run(scenario)


def test_pod_failure_policy_fails_the_job_at_once() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
        cluster.create("Job", indexed(2, podFailurePolicy={"rules": rules}))
        pods = await cluster.until(lambda: cluster.live("j") if len(cluster.live("j")) == 2 else None)
        await cluster.settle()
        cluster.set_phase(pods[:1], "Failed", 42)
        await cluster.until(lambda: cluster.is_true("Job", "j", "Failed"))
        name = pods[0]["metadata"]["name"]
        message = f"Container c for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
        assert ("PodFailurePolicy", message) in cluster.events("Job", "j")

    run(scenario)


def test_limit_per_index() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(2, backoffLimitPerIndex=1))
        for _ in range(2):
            await cluster.until(lambda: "0" in indexes(cluster.live("j")))
            cluster.set_phase([pod for pod in cluster.live("j") if indexes([pod]) == ["0"]], "Failed", 1)
            await cluster.settle()
        await cluster.until(lambda: cluster.status("Job", "j").get("failedIndexes") == "0")
        cluster.set_phase(cluster.live("j"), "Succeeded")
        await cluster.until(lambda: cluster.is_true("Job", "j", "Failed"))
        await cluster.settle()
        status = cluster.status("Job", "j")
        assert (status["completedIndexes"], status["failedIndexes"], status["failed"]) == ("1", "0", 2)
        assert cluster.conditions("Job", "j")["Failed"] == ("True", "FailedIndexes")
        counts = {
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] for pod in cluster.pods()
        }
        assert counts == {"0", "1"}

    run(scenario)


def test_quota_refusal_is_told_and_lifted_when_room_appears() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", cpu="10")
        quota = {"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": "2"}}}
        cluster.create("ResourceQuota", quota)
        cluster.create("Job", indexed(3))
        await cluster.until(lambda: "FailedCreate" in [reason for reason, _ in cluster.events("Job", "j")])
        await cluster.settle()
        assert (len(cluster.pods()), cluster.status("Job", "j")["active"]) == (2, 2)
        message = next(text for reason, text in cluster.events("Job", "j") if reason == "FailedCreate")
        assert message.startswith('Error creating: pods "j-2-')
        assert message.endswith('" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2')
        await cluster.until(lambda: cluster.status("ResourceQuota", "few").get("used") == {"pods": "2"})
        cluster.set_phase(cluster.live("j")[:1], "Succeeded")
        await cluster.until(lambda: len(cluster.pods()) == 3)

    run(scenario)


def test_missing_priority_class_is_told() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.create("Job", indexed(1, pod={"priorityClassName": "nosuch"}))
        await cluster.until(lambda: cluster.events("Job", "j"))
        reason, message = cluster.events("Job", "j")[0]
        assert reason == "FailedCreate"
        assert message.endswith("is forbidden: no PriorityClass with name nosuch was found")
        cluster.create("PriorityClass", {"metadata": {"name": "nosuch"}, "value": 7})
        await cluster.until(lambda: cluster.live("j"))

    run(scenario)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deletion_takes_the_pods_along(propagation: str) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(2))
        await cluster.until(lambda: len(cluster.live("j")) == 2)
        await cluster.settle()
        cluster.store.delete("Job", "default", "j", propagation)
        await cluster.until(lambda: not cluster.pods() and cluster.get("Job", "j") is None)

    run(scenario)


def test_orphaned_pods_stay_and_are_free() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(2))
        await cluster.until(lambda: len(cluster.live("j")) == 2)
        cluster.store.delete("Job", "default", "j", "Orphan")
        await cluster.until(lambda: cluster.get("Job", "j") is None)
        await cluster.settle()
        assert len(cluster.pods()) == 2
        for pod in cluster.pods():
            assert "ownerReferences" not in pod["metadata"]
            assert TRACKING not in pod["metadata"].get("finalizers", ())

    run(scenario)


def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Namespace", {"metadata": {"name": "team"}})
        cluster.create("Job", {**indexed(2), "metadata": {"name": "j", "namespace": "team"}})
        await cluster.until(lambda: len(cluster.all("Pod")) == 2)
        await cluster.settle()
        cluster.store.delete("Namespace", "", "team")
        await cluster.until(lambda: cluster.store.get("Namespace", "", "team") is None)
        assert not cluster.all("Pod")
        with pytest.raises(ApiError):
            cluster.create("Job", {**indexed(2), "metadata": {"name": "j", "namespace": "team"}})

    run(scenario)


def test_time_to_live() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m")
        cluster.create("Job", indexed(1, ttlSecondsAfterFinished=0))
        await cluster.until(lambda: cluster.live("j"))
        cluster.set_phase(cluster.live("j"), "Succeeded")
        await cluster.until(lambda: cluster.get("Job", "j") is None and not cluster.pods())

    run(scenario)


def test_many_pods_share_events() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", cpu="100")
        cluster.create("Job", indexed(30))
        await cluster.until(lambda: len(cluster.live("j")) == 30)
        await cluster.settle()
        found = [event for event in cluster.all("Event") if event["reason"] == "SuccessfulCreate"]
        assert len(found) == 11
        assert sum(event["count"] for event in found) == 30
        combined = [event for event in found if event["count"] > 1]
        assert combined[0]["message"].startswith("(combined from similar events): Created pod: j-29-")
        assert combined[0]["firstTimestamp"]
        assert combined[0]["source"] == {"component": "job-controller"}
        assert combined[0]["involvedObject"]["uid"] == cluster.get("Job", "j")["metadata"]["uid"]

    run(scenario)
