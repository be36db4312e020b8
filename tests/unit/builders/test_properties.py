"""Builds are deterministic, do not depend on the order of maps, and change nothing they are given."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.builders import BuildError, Capabilities, Progress, Rendezvous, build, expected, generate_keys
from jobs.builders.counts import total
from tests.unit.builders.samples import REAL, one, rjob, runtime, trainjob

KEYS = generate_keys()
QUANTITIES = st.sampled_from(["1", "500m", "2Gi", "1536Mi", "4"])
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), QUANTITIES, max_size=3)
BOTH = st.fixed_dictionaries({"limits": RESOURCES, "requests": RESOURCES})
ENV = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("ABCD"), "value": st.text(max_size=3)}),
    max_size=3,
    unique_by=lambda entry: entry["name"],
)
POLICIES = st.sampled_from(
    [
        None,
        {},
        {"torch": {}},
        {"jax": {}, "numNodes": 3},
        {"xgboost": {}},
        {"flux": {"numProcPerNode": 2}},
        {"mpi": {"runLauncherAsNode": True, "numProcPerNode": 1}},
        {"mpi": {"runLauncherAsNode": False}, "numNodes": 2},
    ]
)
GROUPS = st.sampled_from([None, {"volcano": {}}, {"coscheduling": {"scheduleTimeoutSeconds": 5}}])
CAPABILITIES = st.sampled_from(
    [
        REAL,
        Capabilities(),
        Capabilities.local(Rendezvous("127.0.0.1", 20001), Progress("http://x/p", "http://x/a", "tok")),
    ]
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], Capabilities]:
    mpi = draw(POLICIES)
    parts = [rjob("node", None if mpi and "mpi" in mpi else "trainer", resources=draw(BOTH), env=draw(ENV))]
    if mpi and "mpi" in mpi:
        edge = draw(st.sampled_from([None, [{"name": "node", "status": "Ready"}]]))
        parts.append(rjob("launcher", "trainer", resources=draw(BOTH), depends_on=edge))
    if draw(st.booleans()):
        parts.insert(0, rjob("dataset-initializer", "dataset-initializer", "dataset-initializer"))
        parts[1]["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
    spec = {"podGroupPolicy": group} if (group := draw(GROUPS)) else {}
    trainer = draw(
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "numNodes": st.integers(0, 5),
                "image": st.sampled_from(["", "i:1"]),
                "command": st.lists(st.text(max_size=4), max_size=2),
                "args": st.lists(st.text(max_size=4), max_size=2),
                "env": ENV,
                "resourcesPerNode": BOTH,
            },
        )
    )
    labels = draw(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3))
    annotations = draw(st.sampled_from([None, {"trainui.dev/gang-scheduler": "auto"}, {"trainui.dev/num-nodes": "4"}]))
    job = trainjob(trainer, annotations=annotations, suspend=draw(st.booleans()))
    return job, runtime(*parts, policy=mpi, metadata={"labels": labels}, **spec), draw(CAPABILITIES)


def turned(value: Any) -> Any:
    """The same value with every map in reverse order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(list(value))}
    return [turned(item) for item in value] if isinstance(value, list) else value


def result(job: Any, rt: Any, has: Capabilities) -> Any:
    try:
        return build(job, rt, has, KEYS), expected(job, rt, has)
    except BuildError as error:
        return error.findings


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_same_input_same_objects(case):
    job, rt, has = case
    before = copy.deepcopy((job, rt))
    first = result(job, rt, has)
    assert (job, rt) == before
    assert result(copy.deepcopy(job), copy.deepcopy(rt), has) == first
    assert result(turned(job), turned(rt), has) == first


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_what_is_expected_is_what_is_built(case):
    job, rt, has = case
    try:
        objects = build(job, rt, has, KEYS)
    except BuildError:
        return
    wanted = expected(job, rt, has)
    replicated = one(objects, "JobSet")["spec"]["replicatedJobs"]
    counts = {part["name"]: total(part) for part in replicated if total(part)}
    assert {entry["replicated_job"]: entry["count"] for entry in wanted["replicated_jobs"]} == counts
    gang, groups = wanted["gang"], [o for o in objects if o["kind"] == "PodGroup"]
    assert len(groups) == (1 if gang and not job["spec"]["suspend"] else 0)
    if gang:
        assert gang["min_member"] == sum(counts[name] for name in gang["members"])
        members = [part for part in replicated if part["name"] in gang["members"]]
        waits = {edge["name"] for part in members for edge in part.get("dependsOn", [])}
        assert not waits & set(gang["members"])


@settings(max_examples=100, deadline=None)
@given(jobs())
def test_nothing_is_shared_with_the_input(case):
    """Editing what was built must not reach the runtime or the TrainJob."""
    job, rt, has = case
    try:
        objects = build(job, rt, has, KEYS)
    except BuildError:
        return
    before = copy.deepcopy((job, rt))

    def spoil(value: Any) -> None:
        for inner in (
            list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
        ):
            spoil(inner)
        if isinstance(value, dict):
            value["spoiled"] = True
        elif isinstance(value, list):
            value.append("spoiled")

    spoil(objects)
    assert (job, rt) == before
