"""Whole cycles of the scheduler as tables, and what must hold for every cluster."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.localcluster_controllers.test_scheduler_fit import node, pod
from trainui.localcluster.scheduler.decide import Decisions, decide
from trainui.localcluster.scheduler.gang import minimum_of
from trainui.localcluster.scheduler.views import Pod, machine_view, machines_with, pod_view

Obj = dict[str, Any]


def member(
    name: str,
    group: str,
    node: str = "",
    phase: str = "Pending",
    spec: Obj | None = None,
    job: str = "",
    **requests: str,
) -> Obj:
    found = pod(
        name, node, phase, {"schedulingGroup": {"podGroupName": group}, **(spec or {})}, **(requests or {"cpu": "1"})
    )
    if job:
        found["metadata"]["labels"] = {"jobset.sigs.k8s.io/jobset-uid": job}
    return found


def group(
    name: str, minimum: int | None, created: str = "2026-11-30T12:00:00Z", placed: bool = False, **spec: Any
) -> Obj:
    policy = {"gang": {"minCount": minimum}} if minimum is not None else {"basic": {}}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": created}
    conditions = [{"type": "PodGroupInitiallyScheduled", "status": "True"}] if placed else []
    return {"metadata": metadata, "spec": {"schedulingPolicy": policy, **spec}, "status": {"conditions": conditions}}


def cycle(pods: list[Obj], nodes: list[Obj], groups: list[Obj] | None = None, **more: Any) -> Decisions:
    keyed = {("default", found["metadata"]["name"]): found for found in groups or []}
    return decide(map(pod_view, pods), map(machine_view, nodes), keyed, **more)


def bound(decisions: Decisions) -> dict[str, str]:
    return {found.name: machine for unit in decisions.bound for found, machine in unit}


def told(decisions: Decisions) -> dict[str, str]:
    return {refusal.pod.name: refusal.message for refusal in decisions.refused}


def groups_told(decisions: Decisions) -> dict[str, tuple[str, str, str]]:
    return {s.group["metadata"]["name"]: (s.status, s.reason, s.message) for s in decisions.groups}


TWO = [node("m0", cpu="2"), node("m1", cpu="2")]


@pytest.mark.parametrize(
    ("pods", "groups", "expected"),
    [
        pytest.param([pod("p", cpu="1")], [], {"p": "m0"}, id="one pod"),
        pytest.param([pod("p", cpu="3")], [], {}, id="too large"),
        pytest.param(
            [pod("p", cpu="1", phase="Running")], [], {"p": "m0"}, id="the machine is what counts, not the phase"
        ),
        pytest.param(
            [member(f"g{n}", "g") for n in range(4)],
            [group("g", 4)],
            {"g0": "m0", "g1": "m0", "g2": "m1", "g3": "m1"},
            id="close together",
        ),
        pytest.param([member(f"g{n}", "g") for n in range(5)], [group("g", 5)], {}, id="one too many"),
        pytest.param(
            [member(f"g{n}", "g") for n in range(5)],
            [group("g", 4)],
            {"g0": "m0", "g1": "m0", "g2": "m1", "g3": "m1"},
            id="more than the minimum",
        ),
        pytest.param([member("g0", "g")], [group("g", 2)], {}, id="siblings missing"),
        pytest.param([member("g0", "g")], [], {}, id="no such group"),
        pytest.param([member("g0", "g"), member("g1", "g", cpu="9")], [group("g", None)], {"g0": "m0"}, id="basic"),
        pytest.param([pod("p", spec={"schedulerName": "other"}, cpu="1")], [], {}, id="another scheduler"),
        pytest.param([pod("p", spec={"schedulingGates": [{"name": "g"}]}, cpu="1")], [], {}, id="gated"),
        pytest.param(
            [member("g0", "g"), member("g1", "g", spec={"schedulingGates": [{"name": "g"}]})],
            [group("g", 2)],
            {},
            id="one member gated",
        ),
        pytest.param(
            [member("g0", "g", "m0", "Running"), member("g1", "g")], [group("g", 2)], {"g1": "m0"}, id="replacement"
        ),
        pytest.param(
            [member("g0", "g", "m0", "Succeeded"), member("g1", "g")],
            [group("g", 2)],
            {"g1": "m0"},
            id="the other has succeeded",
        ),
        pytest.param(
            [member("g0", "g", "m0", "Failed"), member("g1", "g")], [group("g", 2)], {}, id="the other has failed"
        ),
        pytest.param(
            [member("g0", "g", cpu="2"), member("g1", "g", cpu="1"), member("g2", "g", cpu="1")],
            [group("g", 3)],
            {"g0": "m0", "g1": "m1", "g2": "m1"},
            id="large ones first",
        ),
        pytest.param(
            [
                member("g0", "g"),
                member("g1", "g", spec={"nodeSelector": {"kubernetes.io/hostname": "m0"}}),
                member("g2", "g", spec={"nodeSelector": {"kubernetes.io/hostname": "m0"}}),
            ],
            [group("g", 3)],
            {"g0": "m1", "g1": "m0", "g2": "m0"},
            id="choosy ones first",
        ),
    ],
)
def test_placement(pods: list[Obj], groups: list[Obj], expected: dict[str, str]) -> None:
    assert bound(cycle(pods, TWO, groups)) == expected


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ([{}, {}], "a"),
        ([{}, {"priority": 1}], "b"),
        ([{"priority": 1}, {"priority": 1}], "a"),
    ],
)
def test_priority_then_age(specs: list[Obj], expected: str) -> None:
    pods = [pod(name, cpu="2", spec=spec) for name, spec in zip("ab", specs, strict=True)]
    pods[1]["metadata"]["creationTimestamp"] = "2026-11-30T12:00:01Z"
    assert list(bound(cycle(pods, TWO[:1]))) == [expected]


def test_of_two_in_one_second_the_first_seen_goes_first() -> None:
    pods = [pod("a", cpu="2"), pod("b", cpu="2")]
    assert list(bound(cycle(pods, TWO[:1], arrivals={"uid-a": 2, "uid-b": 1}))) == ["b"]


def test_a_gang_is_as_old_as_its_group() -> None:
    pods = [pod("p", cpu="2"), member("g", "g", cpu="2")]
    pods[1]["metadata"]["creationTimestamp"] = "2026-11-30T12:30:00Z"
    assert list(bound(cycle(pods, TWO[:1], [group("g", 1, created="2026-11-30T11:00:00Z")]))) == ["g"]


def test_machines_are_kept_for_who_waits_first() -> None:
    running = [pod("r", "m0", "Running", cpu="1")]
    first = [member(f"g{n}", "g", cpu="2", spec={"nodeSelector": {"kubernetes.io/hostname": "m0"}}) for n in range(1)]
    later = pod("later", cpu="1")
    later["metadata"]["creationTimestamp"] = "2026-11-30T13:00:00Z"
    found = cycle(running + first + [later], TWO, [group("g", 1)])
    assert bound(found) == {"later": "m1"}
    only = cycle(running + first + [later], TWO[:1], [group("g", 1)])
    assert bound(only) == {}
    assert told(only)["later"].startswith(
        "0/1 nodes are available: 1 node(s) were kept for a job that is ahead in the queue."
    )


def test_what_a_started_job_needs_is_not_held_back() -> None:
    launcher = pod("launcher", cpu="1")
    launcher["metadata"] |= {
        "labels": {"jobset.sigs.k8s.io/jobset-uid": "js"},
        "creationTimestamp": "2026-11-30T13:00:00Z",
    }
    worker = member("worker", "g", "m0", "Running", job="js")
    waiting = pod("waiting", cpu="2")
    assert bound(cycle([worker, waiting, launcher], TWO[:1], [group("g", 1)])) == {"launcher": "m0"}


def test_mixed_schedulers_in_one_group() -> None:
    pods = [member("g0", "g"), member("g1", "g", spec={"schedulerName": "other"})]
    found = cycle(pods, TWO, [group("g", 2)])
    text = 'all pods in a single pod group should have the same .spec.schedulerName set, got: "default-scheduler" and "other"'
    assert (bound(found), told(found)) == ({}, {"g0": text})
    assert groups_told(found) == {"g": ("False", "SchedulerError", text)}


def test_an_elastic_pod_says_why_it_waits_and_the_group_is_placed() -> None:
    found = cycle([member(f"g{n}", "g") for n in range(5)], TWO, [group("g", 4)])
    assert told(found) == {"g4": "0/2 nodes are available: 2 Insufficient cpu."}
    assert groups_told(found) == {"g": ("True", "Scheduled", "")}


def test_a_placed_group_is_not_called_unplaced() -> None:
    found = cycle([member("g0", "g", cpu="9")], TWO, [group("g", 1, placed=True)])
    assert groups_told(found) == {}


HIGH = {"priority": 10}


@pytest.mark.parametrize(
    ("pods", "groups", "victims"),
    [
        pytest.param([pod("lo", "m0", "Running", cpu="2"), pod("hi", cpu="1", spec=HIGH)], [], ["lo"], id="one"),
        pytest.param(
            [pod("lo", "m0", "Running", cpu="2", spec=HIGH), pod("hi", cpu="1", spec=HIGH)], [], [], id="same priority"
        ),
        pytest.param(
            [pod("lo", "m0", "Running", cpu="2"), pod("hi", cpu="1", spec=HIGH | {"preemptionPolicy": "Never"})],
            [],
            [],
            id="never",
        ),
        pytest.param([pod("lo", "m0", "Running", cpu="2"), pod("hi", cpu="3", spec=HIGH)], [], [], id="no help"),
        pytest.param(
            [pod("a", "m0", "Running", cpu="1"), pod("b", "m0", "Running", cpu="1"), pod("hi", cpu="1", spec=HIGH)],
            [],
            ["b"],
            id="as few as possible",
        ),
        pytest.param(
            [
                pod("a", "m0", "Running", cpu="1", spec={"priority": 5}),
                pod("b", "m0", "Running", cpu="1"),
                pod("hi", cpu="1", spec=HIGH),
            ],
            [],
            ["b"],
            id="the least important",
        ),
        pytest.param(
            [member(f"g{n}", "g", "m0", "Running") for n in range(2)] + [pod("hi", cpu="1", spec=HIGH)],
            [group("g", 2, disruptionMode={"all": {}})],
            ["g0", "g1"],
            id="whole groups",
        ),
        pytest.param(
            [pod("lo", "m0", "Succeeded", cpu="2"), pod("hi", cpu="1", spec=HIGH)], [], [], id="ended ones hold nothing"
        ),
    ],
)
def test_victims(pods: list[Obj], groups: list[Obj], victims: list[str]) -> None:
    found = cycle(pods, TWO[:1], groups)
    assert [eviction.pod.name for eviction in found.evicted] == victims


def test_a_group_has_its_own_priority_for_all_its_pods() -> None:
    high = {"metadata": {"name": "high"}, "value": 100}
    holder = pod("lo", "m0", "Running", cpu="2", spec={"priority": 50})
    found = cycle(
        [holder, member("g0", "g")], TWO[:1], [group("g", 1, priorityClassName="high")], classes={"high": high}
    )
    assert [eviction.pod.name for eviction in found.evicted] == ["lo"]
    holder = member("g0", "g", "m0", "Running", cpu="2")
    mine = group("g", 1, priorityClassName="high")
    found = cycle([holder, pod("p", cpu="2", spec={"priority": 50})], TWO[:1], [mine], classes={"high": high})
    assert found.evicted == []


def test_members_of_one_gang_do_not_evict_each_other() -> None:
    members = [member("g0", "g", "m0", "Running", cpu="2"), member("g1", "g", cpu="2", spec=HIGH)]
    assert cycle(members, TWO[:1], [group("g", 1)]).evicted == []
    assert cycle(members, TWO[:1], [group("g", 2)]).evicted == []


def test_nobody_is_evicted_while_room_is_being_made() -> None:
    going = pod("lo", "m0", "Running", cpu="2")
    going["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    other = pod("lo2", "m1", "Running", cpu="2")
    found = cycle([going, other, pod("hi", cpu="2", spec=HIGH)], TWO)
    assert (found.evicted, bound(found)) == ([], {})


def test_words_of_a_preempting_gang() -> None:
    pods = [pod("lo", "m0", "Running", cpu="2"), *(member(f"g{n}", "g", spec=HIGH) for n in range(2))]
    found = cycle(pods, TWO[:1], [group("g", 2)])
    text = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, pod group preemption: found a placement for podgroup, preempting 1 victims"
    assert groups_told(found)["g"] == ("False", "Unschedulable", text)
    pods[0]["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    found = cycle(pods, TWO[:1], [group("g", 2)])
    assert groups_told(found)["g"][2].endswith("pod group preemption: ongoing preemption on nominated nodes")


def test_words_of_a_preempting_pod() -> None:
    found = cycle([pod("lo", "m0", "Running", cpu="2"), pod("hi", cpu="1", spec=HIGH)], TWO[:1])
    assert told(found)["hi"] == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: found a potential placement for pod on node m0, preempting 1 victims"
    )


# What must hold for every cluster

PODS = st.lists(
    st.tuples(
        st.sampled_from(["", "", "g0", "g1", "g2"]),
        st.integers(1, 5),
        st.sampled_from(["", "", "m0", "m1", "m2"]),
        st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        st.booleans(),
        st.integers(0, 2),
        st.sampled_from([None, None, "m0", "m1"]),
    ),
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(PODS, st.lists(st.integers(1, 8), min_size=1, max_size=3), st.lists(st.integers(1, 4), min_size=3, max_size=3))
def test_never_too_much_and_never_a_gang_in_part(
    drawn: list[tuple[Any, ...]], sizes: list[int], minima: list[int]
) -> None:
    nodes = [node(f"m{number}", cpu=str(size), pods="5") for number, size in enumerate(sizes)]
    machines = machines_with(map(machine_view, nodes), [])
    pods = []
    for number, (name, cpu, place, phase, deleting, priority, wanted) in enumerate(drawn):
        spec: Obj = {"priority": priority}
        if wanted:
            spec["nodeSelector"] = {"kubernetes.io/hostname": wanted}
        found = (
            member(f"p{number}", name, spec=spec, phase=phase, cpu=str(cpu))
            if name
            else pod(f"p{number}", phase=phase, spec=spec, cpu=str(cpu))
        )
        machine = machines.get(place)
        if machine is not None:
            fits = machine.free["cpu"] >= cpu * 1000 and machine.free["pods"] >= 1000
            if phase in ("Pending", "Running") and not fits:
                continue
            found["spec"]["nodeName"] = place
            if phase in ("Pending", "Running"):
                machine.place(pod_view(found))
        if deleting:
            found["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
        pods.append(found)
    groups = {("default", f"g{n}"): group(f"g{n}", minimum) for n, minimum in enumerate(minima)}
    views = [pod_view(found) for found in pods]
    found = decide(views, map(machine_view, nodes), groups)
    check_decisions(found, views, [machine_view(n) for n in nodes], groups)


def check_decisions(found: Decisions, pods: list[Pod], nodes: list[Any], groups: dict[tuple[str, str], Obj]) -> None:
    placed = [pair for unit in found.bound for pair in unit]
    assert all(pod_.waits for pod_, _ in placed)
    assert max(Counter(pod_.uid for pod_, _ in placed).values(), default=1) == 1
    books = machines_with(nodes, pods)
    for pod_, machine in placed:
        books[machine].place(pod_)
        wanted = pod_.spec.get("nodeSelector") or {}
        assert wanted.get("kubernetes.io/hostname", machine) == machine
    assert all(amount >= 0 for machine in books.values() for amount in machine.free.values())
    for key, found_group in groups.items():
        members = [pod_ for pod_ in pods if (pod_.namespace, pod_.group) == key]
        new = [pod_ for pod_, _ in placed if (pod_.namespace, pod_.group) == key]
        held = [p for p in members if not p.deleting and (p.holds or p.phase == "Succeeded")]
        assert not new or len(new) + len(held) >= minimum_of(found_group)
    for eviction in found.evicted:
        preemptor = [p for p in pods if eviction.preemptor in (p.uid, f"uid-{p.group}")]
        assert eviction.pod.holds
        assert not eviction.pod.deleting
        assert eviction.pod.priority < max(p.priority for p in preemptor)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=8), st.integers(0, 100))
def test_every_gang_that_can_run_gets_its_turn(shapes: list[tuple[int, int]], seed: int) -> None:
    """Gangs end in any order; each that fits on empty machines is placed in the end, and in the order of arrival."""
    nodes = [node("m0", cpu="4"), node("m1", cpu="4")]
    groups = {}
    pods: dict[str, Obj] = {}
    for number, (count, cpu) in enumerate(shapes):
        name = f"g{number}"
        groups["default", name] = group(name, count, created=f"2026-11-30T12:00:{number:02}Z")
        pods |= {f"{name}-{n}": member(f"{name}-{n}", name, cpu=str(cpu)) for n in range(count)}
    possible = [n for n, (count, cpu) in enumerate(shapes) if count <= 2 * (4 // cpu)]
    order: list[int] = []
    for step in range(4 * len(shapes) + 4):
        found = decide(map(pod_view, pods.values()), map(machine_view, nodes), groups)
        for unit in found.bound:
            order.append(int(unit[0][0].group[1:]))
            for pod_, machine in unit:
                pods[pod_.name]["spec"]["nodeName"] = machine
        running = sorted(
            {
                p["spec"]["schedulingGroup"]["podGroupName"]
                for p in pods.values()
                if p["spec"].get("nodeName") and p["status"]["phase"] == "Pending"
            }
        )
        if running:
            ending = running[(seed + step) % len(running)]
            for name in [name for name in pods if name.startswith(f"{ending}-")]:
                pods[name]["status"]["phase"] = "Succeeded"
    assert order == possible
