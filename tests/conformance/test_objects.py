"""Every recorded TrainJob of conformance/objects.json through production code: admitted, stored, built."""

import datetime
from typing import Any

import pytest

from jobs.builders import BuildError, Capabilities, Progress, Rendezvous, build, expected, generate_keys
from jobs.spec.admission import review_create
from tests.conformance.corpus import Case, cases, evaluator

MUST = evaluator()
CASES = cases("objects")
NOW = datetime.datetime(2026, 5, 1, 12, 0, 0, tzinfo=datetime.UTC)
# Upstream leaves schedulerName to the runtime.
CAPABILITIES = Capabilities(
    gang_schedulers=frozenset({"coscheduling", "volcano"}), coscheduling_scheduler="", volcano_scheduler=""
)
KEYS = generate_keys()
PARTS = ("verdict", "stored", "storedMetadata", "objects", "jobSetApplied")
BY_ID = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def stored_runtime(case: Case) -> dict[str, Any] | None:
    """The runtime of a case as the API server stored it, if the TrainJob refers to that one."""
    runtime = case["runtime"]
    reference = case["trainJob"]["spec"].get("runtimeRef") or {}
    wanted = (reference.get("kind", "ClusterTrainingRuntime"), reference.get("name"))
    if runtime is None or (runtime["kind"], runtime["metadata"]["name"]) != wanted:
        return None
    return {**runtime, "spec": case["runtimeStored"]}


def admitted(case: Case) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The verdict of a case, and the TrainJob as stored (None if refused)."""
    classes = [o["metadata"]["name"] for o in case.get("setup") or [] if o["kind"] == "PriorityClass"]
    review = review_create(case["trainJob"], stored_runtime(case), NOW, priority_classes=classes)
    result: dict[str, Any] = {
        "verdict": {"accepted": review.stored is not None},
        "submit_checks": [finding.path for finding in review.findings.refused],
    }
    if review.stored is None:
        result["verdict"]["causes"] = [{"field": finding.path} for finding in review.findings.errors]
        return result, None
    result["stored"] = review.stored["spec"]
    kept = ("labels", "annotations")
    if metadata := {key: value for key, value in review.stored["metadata"].items() if key in kept}:
        result["storedMetadata"] = metadata
    return result, review.stored


def result_of(case: Case) -> dict[str, Any]:
    """What our code makes of a case, in the shape of a case. A job that can never be built gets nothing."""
    result, trainjob = admitted(case)
    runtime = stored_runtime(case)
    if trainjob is None or runtime is None:
        return {**result, "objects": []}
    try:
        objects = build(trainjob, runtime, CAPABILITIES, KEYS)
    except BuildError:
        return {**result, "objects": []}
    jobset = next((o for o in objects if o["kind"] == "JobSet"), None)
    return {**result, "objects": [o for o in objects if o["kind"] != "JobSet"], "jobSetApplied": jobset}


@BY_ID
def test_objects(case: Case) -> None:
    assert MUST.check(case, result_of(case), parts=PARTS) == []


RENDERED = [c for c in CASES if any("fluxRendered" in o for o in c["objects"])]


@pytest.mark.parametrize("case", RENDERED, ids=lambda case: case["id"])
def test_flux_scripts_hold_the_recorded_values(case: Case) -> None:
    [recorded] = [o["fluxRendered"] for o in case["objects"] if "fluxRendered" in o]
    [ours] = [o["data"] for o in result_of(case)["objects"] if o["metadata"]["name"].endswith("-flux-entrypoint")]
    assert f'--hosts="{recorded["hosts"]}" {recorded["resourceSpec"]} ' in ours["init.sh"]
    assert f'default_bind = "{recorded["defaultBind"]}"' in ours["init.sh"]
    assert f'default_connect = "{recorded["defaultConnect"]}"' in ours["init.sh"]
    assert f'queue-policy = "{recorded["queuePolicy"]}"' in ours["init.sh"]
    assert f"flux run {recorded['runFlags']} " in ours["entrypoint.sh"]
    assert f'= "{recorded["entrypointMainHost"]}" ]' in ours["entrypoint.sh"]


NAMELESS = [c for c in CASES if any(m.get("no_kind") == "JobSet" for m in c.get("must", []))]


@pytest.mark.parametrize("case", NAMELESS, ids=lambda case: case["id"])
def test_what_can_never_be_built_says_why(case: Case) -> None:
    _, trainjob = admitted(case)
    runtime = stored_runtime(case)
    assert trainjob is not None
    assert runtime is not None
    for function in (build, expected):
        with pytest.raises(BuildError) as caught:
            function(trainjob, runtime, CAPABILITIES)
        assert [finding.path for finding in caught.value.findings] == ["metadata.name"]


LOCAL = Capabilities.local(Rendezvous("127.0.0.1", 20001), Progress("http://x/p", "http://x/a", "token"))


@BY_ID
def test_every_job_can_be_built_for_the_local_cluster(case: Case) -> None:
    """With its gang scheduler, its leased port and its progress endpoint: nothing dangles, and counts are as expected."""
    _, trainjob = admitted(case)
    runtime = stored_runtime(case)
    if trainjob is None or runtime is None:
        return
    annotations = trainjob["metadata"].setdefault("annotations", {})
    annotations["trainui.dev/gang-scheduler"] = "auto"
    try:
        objects = build(trainjob, runtime, LOCAL, KEYS)
    except BuildError:
        assert case in NAMELESS
        return
    if not objects:
        assert trainjob["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
        return
    record = expected(trainjob, runtime, LOCAL)
    [jobset] = [o for o in objects if o["kind"] == "JobSet"]
    own = {(o["kind"], o["metadata"]["name"]) for o in objects}
    counts = {entry["replicated_job"]: entry["count"] for entry in record["replicated_jobs"]}
    members = (record["gang"] or {}).get("members", [])
    for job in jobset["spec"]["replicatedJobs"]:
        spec = job["template"]["spec"]
        assert job.get("replicas", 1) * spec["parallelism"] == counts.get(job["name"], 0)
        pod = spec["template"]["spec"]
        assert ("schedulingGroup" in pod) is (job["name"] in members)
        assert not (job["name"] in members and {e["name"] for e in job.get("dependsOn", [])} & set(members))
        for volume in pod.get("volumes", []):
            for kind, source, key in (("Secret", "secret", "secretName"), ("ConfigMap", "configMap", "name")):
                name = (volume.get(source) or {}).get(key, "")
                assert not name.startswith(trainjob["metadata"]["name"] + "-") or (kind, name) in own
        text = str(pod)
        assert "PET_MASTER_PORT" not in text or "'value': '20001'" in text
