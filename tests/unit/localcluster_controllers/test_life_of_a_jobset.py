"""The whole life of JobSets over the real store and controllers; the test writes the pods' status."""

import pytest

from tests.unit.localcluster_controllers.harness import Cluster, jobset, rjob, run

MANY = {"cpu": "100"}


def counts(cluster: Cluster, name: str, rjob_name: str) -> tuple[int, int, int, int, int]:
    found = {entry["name"]: entry for entry in cluster.status("JobSet", name).get("replicatedJobsStatus", ())}
    entry = found.get(rjob_name, {})
    return tuple(entry.get(key, 0) for key in ("active", "ready", "succeeded", "failed", "suspended"))


def test_success() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        cluster.create("JobSet", jobset("js", rjob("node", pods=2)))
        await cluster.until(lambda: len([p for p in cluster.live() if p["spec"].get("nodeName")]) == 2)
        await cluster.settle()
        assert counts(cluster, "js", "node") == (1, 0, 0, 0, 0)
        assert cluster.get("Service", "js")["spec"]["clusterIP"] == "None"
        assert cluster.get("Service", "js")["spec"]["selector"] == {"jobset.sigs.k8s.io/jobset-name": "js"}
        cluster.set_phase(cluster.pods(), "Running")
        await cluster.until(lambda: counts(cluster, "js", "node") == (1, 1, 0, 0, 0))
        cluster.set_phase(cluster.pods(), "Succeeded")
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Completed"))
        await cluster.settle()
        assert cluster.conditions("JobSet", "js") == {"Completed": ("True", "AllJobsCompleted")}
        assert cluster.status("JobSet", "js")["terminalState"] == "Completed"
        job = cluster.status("Job", "js-node-0")
        assert (job["succeeded"], job["failed"], job["active"], job["completedIndexes"]) == (2, 0, 0, "0,1")
        assert cluster.conditions("Job", "js-node-0") == {
            "SuccessCriteriaMet": ("True", "CompletionsReached"),
            "Complete": ("True", "CompletionsReached"),
        }
        assert ("AllJobsCompleted", "jobset completed successfully") in cluster.events("JobSet", "js")
        assert [pod["metadata"].get("finalizers") for pod in cluster.pods()] == [None, None]

    run(scenario)


def test_pods_carry_what_ranks_need() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.create("JobSet", jobset("js", rjob("node", pods=2, replicas=2)))
        pods = await cluster.until(lambda: cluster.pods() if len(cluster.pods()) == 4 else None)
        seen = set()
        for pod in pods:
            labels, annotations = pod["metadata"]["labels"], pod["metadata"]["annotations"]
            job, index = labels["job-name"], labels["batch.kubernetes.io/job-completion-index"]
            assert pod["spec"]["hostname"] == f"{job}-{index}"
            assert pod["spec"]["subdomain"] == "js"
            assert pod["metadata"]["name"].startswith(f"{job}-{index}-")
            assert annotations["batch.kubernetes.io/job-completion-index"] == index
            env = {entry["name"]: entry["valueFrom"] for entry in pod["spec"]["containers"][0]["env"]}
            path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
            assert env["JOB_COMPLETION_INDEX"]["fieldRef"]["fieldPath"] == path
            seen.add((labels["jobset.sigs.k8s.io/job-global-index"], index))
        assert seen == {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}

    run(scenario)


def test_failure_without_policy_ends_the_jobset_and_its_other_jobs() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        cluster.create("JobSet", jobset("js", rjob("node", pods=2), rjob("other")))
        await cluster.until(lambda: len(cluster.live()) == 3)
        await cluster.settle()
        cluster.set_phase(cluster.pods(), "Running")
        cluster.set_phase(cluster.pods("js-node-0")[:1], "Failed", 3)
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Failed"))
        await cluster.settle()
        assert cluster.status("JobSet", "js")["terminalState"] == "Failed"
        message = "jobset failed due to one or more job failures (first failed job: js-node-0)"
        assert ("FailedJobs", message) in cluster.events("JobSet", "js")
        assert cluster.conditions("Job", "js-node-0")["Failed"] == ("True", "BackoffLimitExceeded")
        assert [job["metadata"]["name"] for job in cluster.all("Job")] == ["js-node-0"]
        assert [pod["status"]["phase"] for pod in cluster.pods()] == ["Failed"]

    run(scenario)


def test_restarts_until_the_limit() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        cluster.create("JobSet", jobset("js", rjob("node", pods=2), failurePolicy={"maxRestarts": 1}))
        await cluster.until(lambda: len(cluster.live()) == 2)
        await cluster.settle()
        first = {pod["metadata"]["uid"] for pod in cluster.pods()}
        cluster.set_phase(cluster.pods()[:1], "Failed", 1)
        await cluster.until(
            lambda: len(cluster.live()) == 2 and not first & {p["metadata"]["uid"] for p in cluster.pods()}
        )
        await cluster.settle()
        assert cluster.conditions("JobSet", "js") == {"RestartingJobSet": ("True", "DefaultFailurePolicy")}
        assert cluster.status("JobSet", "js")["restarts"] == 1
        assert {pod["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for pod in cluster.pods()} == {"1"}
        cluster.set_phase(cluster.pods(), "Running")
        await cluster.until(lambda: cluster.conditions("JobSet", "js")["RestartingJobSet"] == ("False", "JobsReady"))
        await cluster.settle()
        cluster.set_phase(cluster.pods()[1:], "Failed", 1)
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Failed"))
        await cluster.settle()
        assert cluster.conditions("JobSet", "js") == {
            "RestartingJobSet": ("False", "JobSetFailed"),
            "Failed": ("True", "ReachedMaxRestarts"),
        }
        reasons = [reason for reason, _ in cluster.events("JobSet", "js")]
        assert {"RestartJobSetFailurePolicyAction", "JobsReady", "ReachedMaxRestarts"} <= set(reasons)

    run(scenario)


def test_suspend_and_resume() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", labels={"pool": "a"}, **MANY)
        cluster.create("JobSet", jobset("js", rjob("node", pods=2)))
        await cluster.until(lambda: len(cluster.live()) == 2)
        await cluster.settle()
        cluster.set_phase(cluster.pods(), "Running")
        await cluster.settle()
        cluster.patch("JobSet", "js", {"spec": {"suspend": True}})
        await cluster.until(lambda: not cluster.pods() and cluster.is_true("JobSet", "js", "Suspended"))
        await cluster.settle()
        assert counts(cluster, "js", "node") == (0, 0, 0, 0, 1)
        assert cluster.conditions("Job", "js-node-0")["Suspended"] == ("True", "JobSuspended")
        assert cluster.status("Job", "js-node-0")["failed"] == 0
        changed = cluster.get("JobSet", "js")["spec"]["replicatedJobs"]
        changed = [{**changed[0], "template": {"spec": {**changed[0]["template"]["spec"]}}}]
        pod = changed[0]["template"]["spec"]["template"]
        labelled = {"metadata": {"labels": {"queue": "q"}}, "spec": {**pod["spec"], "nodeSelector": {"pool": "a"}}}
        changed[0]["template"]["spec"]["template"] = labelled
        cluster.patch("JobSet", "js", {"spec": {"replicatedJobs": changed}})
        cluster.patch("JobSet", "js", {"spec": {"suspend": False}})
        await cluster.until(lambda: len(cluster.live()) == 2)
        await cluster.settle()
        assert {pod["spec"]["nodeSelector"]["pool"] for pod in cluster.pods()} == {"a"}
        assert {pod["metadata"]["labels"]["queue"] for pod in cluster.pods()} == {"q"}
        assert cluster.conditions("JobSet", "js")["Suspended"] == ("False", "ResumeJobs")
        cluster.set_phase(cluster.pods(), "Succeeded")
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Completed"))

    run(scenario)


def test_created_suspended_has_jobs_but_no_pods() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.create("JobSet", jobset("js", rjob("node"), suspend=True))
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Suspended"))
        await cluster.settle()
        assert counts(cluster, "js", "node") == (0, 0, 0, 0, 1)
        assert not cluster.pods()
        cluster.patch("JobSet", "js", {"spec": {"suspend": None}})
        await cluster.until(lambda: len(cluster.live()) == 1)

    run(scenario)


@pytest.mark.parametrize(("status", "phase"), [("Complete", "Succeeded"), ("Ready", "Running")])
def test_depends_on(status: str, phase: str) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        second = rjob("second", dependsOn=[{"name": "first", "status": status}])
        cluster.create("JobSet", jobset("js", rjob("first", pods=2), second))
        await cluster.until(lambda: len(cluster.live("js-first-0")) == 2)
        await cluster.settle()
        assert cluster.get("Job", "js-second-0") is None
        pods = cluster.pods("js-first-0")
        cluster.set_phase(pods[:1], phase)
        await cluster.settle()
        assert cluster.get("Job", "js-second-0") is None
        cluster.set_phase(pods[1:], phase)
        await cluster.until(lambda: cluster.live("js-second-0"))

    run(scenario)


def test_in_order_start_up_survives_a_resume() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        order = {"startupPolicyOrder": "InOrder"}
        cluster.create("JobSet", jobset("js", rjob("pre"), rjob("node"), startupPolicy=order, suspend=True))
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Suspended"))
        await cluster.settle()
        assert (counts(cluster, "js", "pre"), counts(cluster, "js", "node")) == ((0, 0, 0, 0, 1), (0, 0, 0, 0, 1))
        cluster.patch("JobSet", "js", {"spec": {"suspend": False}})
        await cluster.until(lambda: cluster.live("js-pre-0"))
        await cluster.settle()
        assert not cluster.pods("js-node-0")
        assert cluster.conditions("JobSet", "js") == {
            "Suspended": ("True", "SuspendedJobs"),
            "StartupPolicyInProgress": ("True", "InOrderStartupPolicyInProgress"),
        }
        cluster.set_phase(cluster.pods("js-pre-0"), "Running")
        await cluster.until(lambda: cluster.live("js-node-0"))
        cluster.set_phase(cluster.pods("js-node-0"), "Running")
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "StartupPolicyCompleted"))
        await cluster.settle()
        assert cluster.conditions("JobSet", "js") == {
            "Suspended": ("False", "ResumeJobs"),
            "StartupPolicyInProgress": ("False", "InOrderStartupPolicyInProgress"),
            "StartupPolicyCompleted": ("True", "InOrderStartupPolicyCompleted"),
        }

    run(scenario)


def test_success_of_the_target_deletes_what_still_runs() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        policy = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
        cluster.create("JobSet", jobset("js", rjob("node", pods=3), rjob("launcher"), successPolicy=policy))
        await cluster.until(lambda: len([p for p in cluster.live() if p["spec"].get("nodeName")]) == 4)
        await cluster.settle()
        cluster.set_phase(cluster.pods(), "Running")
        cluster.set_phase(cluster.pods("js-launcher-0"), "Succeeded")
        await cluster.until(lambda: cluster.is_true("JobSet", "js", "Completed") and len(cluster.all("Job")) == 1)
        await cluster.settle()
        assert [pod["metadata"]["labels"]["job-name"] for pod in cluster.pods()] == ["js-launcher-0"]
        assert counts(cluster, "js", "node") == (0, 0, 0, 0, 0)

    run(scenario)


def test_claims_are_made_mounted_and_go_with_the_jobset_unless_retained() -> None:
    async def scenario(cluster: Cluster) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

        def policy(name: str, when: str) -> dict:
            return {
                "templates": [{"metadata": {"name": name}, "spec": spec}],
                "retentionPolicy": {"whenDeleted": when},
            }

        mounts = [{"name": "work", "mountPath": "/work"}]
        node = rjob("node")
        node["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
        js = jobset("js", node, volumeClaimPolicies=[policy("work", "Delete"), policy("keep", "Retain")])
        cluster.create("JobSet", js)
        pod = await cluster.until(lambda: cluster.live() and cluster.live()[0])
        claim = {"name": "work", "persistentVolumeClaim": {"claimName": "work-js"}}
        assert claim in pod["spec"]["volumes"]
        assert {claim["metadata"]["name"] for claim in cluster.all("PersistentVolumeClaim")} == {"work-js", "keep-js"}
        cluster.store.delete("JobSet", "default", "js", "Foreground")
        await cluster.until(lambda: cluster.get("JobSet", "js") is None)
        await cluster.settle()
        assert [claim["metadata"]["name"] for claim in cluster.all("PersistentVolumeClaim")] == ["keep-js"]
        assert not cluster.all("Job")
        assert not cluster.all("Pod")
        assert not cluster.all("Service")

    run(scenario)


def test_time_to_live_deletes_the_finished_jobset() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        cluster.create("JobSet", jobset("js", rjob("node"), ttlSecondsAfterFinished=0))
        await cluster.until(lambda: len(cluster.live()) == 1)
        cluster.set_phase(cluster.pods(), "Succeeded")
        await cluster.until(lambda: cluster.get("JobSet", "js") is None and not cluster.all("Pod"))

    run(scenario)


def test_a_job_that_cannot_be_created_is_told_and_tried_again() -> None:
    async def scenario(cluster: Cluster) -> None:
        other = {"metadata": {"name": "js-node-0", "namespace": "default"}, "spec": rjob("x")["template"]["spec"]}
        other["spec"]["template"]["spec"]["restartPolicy"] = "Never"
        cluster.create("Job", other | {"spec": other["spec"] | {"suspend": True}})
        cluster.create("JobSet", jobset("js", rjob("node")))
        await cluster.until(lambda: "JobCreationFailed" in [reason for reason, _ in cluster.events("JobSet", "js")])
        cluster.store.delete("Job", "default", "js-node-0")
        await cluster.until(lambda: cluster.live())

    run(scenario)


def test_another_manager_keeps_its_jobset() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.create("JobSet", jobset("js", rjob("node"), managedBy="acme.example/manager"))
        await cluster.settle()
        assert not cluster.all("Job")
        assert not cluster.status("JobSet", "js")

    run(scenario)


def test_rule_that_ignores_the_limit_restarts_for_ever() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", **MANY)
        rules = [{"name": "again", "action": "RestartJobSetAndIgnoreMaxRestarts"}]
        cluster.create("JobSet", jobset("js", rjob("node"), failurePolicy={"maxRestarts": 0, "rules": rules}))
        for attempt in range(3):
            await cluster.until(
                lambda attempt=attempt: any(
                    pod["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == str(attempt)
                    for pod in cluster.live()
                )
            )
            cluster.set_phase(cluster.live(), "Failed", 1)
        await cluster.until(lambda: cluster.status("JobSet", "js").get("restarts") == 3)
        assert cluster.conditions("JobSet", "js")["RestartingJobSet"] == ("True", "FailurePolicy_again")
        assert "restartsCountTowardsMax" not in cluster.status("JobSet", "js")

    run(scenario)
