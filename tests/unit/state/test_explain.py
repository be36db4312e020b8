"""Messages beyond the shared cases: older and newer forms, cut texts, texts that nobody knows."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.state import explain
from jobs.state.explain.model import Reason

POD, EVENT, WORKLOAD = "pod PodScheduled=False", "job event FailedCreate", "workload QuotaReserved=False"

TABLE: list[tuple[str, str, str, str, list[str]]] = [
    (
        POD,
        "Unschedulable",
        "0/3 nodes are available: 1 node(s) had taint {a: b}, that the pod didn't tolerate, 2 Insufficient cpu.",
        "InsufficientResources",
        ["2 of 3", "taint a: b"],
    ),
    (
        POD,
        "Unschedulable",
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
        "PodAffinityMismatch",
        ["1 of 1 machine"],
    ),
    (
        POD,
        "Unschedulable",
        "0/2 nodes are available: 2 node(s) were kept for a job that is ahead in the queue.",
        "QueueAhead",
        ["ahead in the queue"],
    ),
    (
        POD,
        "Unschedulable",
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were kept for a job that is ahead in the queue.",
        "QueueAhead",
        ["1 has too little cpu"],
    ),
    (
        POD,
        "Unschedulable",
        "0/4 nodes are available: 4 node(s) exceed max volume count.",
        "TooManyVolumes",
        ["volumes"],
    ),
    (
        POD,
        "Unschedulable",
        '0/2 nodes are available: persistentvolumeclaim "d" is being deleted.',
        "VolumeNotBound",
        ["is being deleted"],
    ),
    (
        POD,
        "Unschedulable",
        "0/5 nodes are available: 5 Insufficient example.com/fpga",
        "InsufficientResources",
        ["example.com/fpga"],
    ),
    (
        POD,
        "Unschedulable",
        "0/62 nodes are available: 1 Insufficient cpu, 61 node(s) were unschedulable. "
        "preemption: found a potential placement for pod on node n, preempting 2 victims",
        "InsufficientResources",
        ["preempting 2"],
    ),
    (
        POD,
        "Unschedulable",
        "0/8 nodes are available: resource gap: map[cpu:{{1500 -3} {<nil>} 1500m DecimalSI} memory:{{1073741824 0} {<nil>}  BinarySI}].",
        "InsufficientResources",
        ["1500m more cpu", "1Gi more memory"],
    ),
    (POD, "SchedulerError", "plugin exploded", "SchedulerError", ["plugin exploded"]),
    (POD, "SchedulerError", 'running Reserve plugin "DynamicResources": no', "SchedulerError", ["DynamicResources"]),
    (
        "in-tree PodGroup PodGroupInitiallyScheduled=True",
        "Scheduled",
        "pod group is unschedulable",
        "Scheduled",
        ["has its machines"],
    ),
    (
        WORKLOAD,
        "Pending",
        "couldn't assign flavors to pod set node: insufficient quota for cpu in flavor f, request > maximum capacity (64 > 48)",
        "ExceedsMaxQuota",
        ["64 cpu", "48"],
    ),
    (
        WORKLOAD,
        "Pending",
        "couldn't assign flavors to pod set a: insufficient unused quota for cpu in flavor f, 1 more needed; "
        "couldn't assign flavors to pod set b: insufficient quota for gpu in flavor g, "
        "previously considered podsets requests (0) + current podset request (9) > maximum capacity (8)",
        "ExceedsMaxQuota",
        ["9 gpu", "for b"],
    ),
    (WORKLOAD, "WaitingForQuota", "some new text", "WaitingForQuota", ["some new text"]),
    (WORKLOAD, "TopologyPlacementFailed", "no rack", "TopologyNotFree", ["no rack"]),
    (WORKLOAD, "Suspended", "on hold", "QueueStopped", ["on hold"]),
    (POD, "Unschedulable", "pod group is unschedulable", "GangRejected", ["as a whole"]),
    (POD, "", "0/3 nodes are available: 1 Insufficient cpu, 2 odd ones.", "InsufficientResources", ["1 of 3"]),
    ("workload Evicted=True", "LocalQueueStopped", "", "QueueStopped", ["LocalQueue"]),
    (
        EVENT,
        "FailedCreate",
        'Error creating: pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 4',
        "LimitRangeDenied",
        ["maximum cpu"],
    ),
    (
        EVENT,
        "FailedCreate",
        'Error creating: Internal error occurred: failed calling webhook "w.example": connection refused',
        "WebhookUnavailable",
        ["w.example"],
    ),
    (
        EVENT,
        "FailedCreate",
        "Error creating: pods \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no hostPath",
        "AdmissionDenied",
        ["p", "no hostPath"],
    ),
    (
        EVENT,
        "FailedCreate",
        'Error creating: Pod "x" is invalid: spec.containers[0].image: Required value',
        "AdmissionDenied",
        ["Required value"],
    ),
    (
        EVENT,
        "FailedCreate",
        'Error creating: pods "x" is forbidden: exceeded quota: q, requested: a=x, used: a=y, limited: a=z',
        "NamespaceQuotaExceeded",
        ["quota q"],
    ),
    (
        "volcano PodGroup Unschedulable",
        "NotEnoughResources",
        "2/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; Pending: 2 Undetermined, 2 Schedulable",
        "GangRejected",
        ["2 of the 4"],
    ),
    (
        "volcano PodGroup event",
        "Unschedulable",
        "resource in cluster is overused: overused cpu",
        "ClusterOverused",
        ["cpu"],
    ),
    ("pod DisruptionTarget=True", "DeletionByPodGC", "PodGC: node no longer exists", "MachineLost", ["does not exist"]),
    ("pvc event", "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found', "VolumeNotBound", ["fast"]),
]


@pytest.mark.parametrize(
    ("source", "reason", "message", "code", "mentions"), TABLE, ids=[f"{row[3]}-{n}" for n, row in enumerate(TABLE)]
)
def test_message(source: str, reason: str, message: str, code: str, mentions: list[str]) -> None:
    why = explain(source, reason, message)
    assert why.code == code, why
    for word in mentions:
        assert word in why.clause


def test_a_part_that_is_cut_is_left_out() -> None:
    whole = "0/9 nodes are available: 4 Insufficient cpu, 5 Insufficient nvidia.com/gpu."
    assert [reason.resource for reason in explain(POD, "", whole).reasons] == ["cpu", "nvidia.com/gpu"]
    assert [reason.resource for reason in explain(POD, "", whole[:-5]).reasons] == ["cpu"]


def test_several_shortages_of_a_quota() -> None:
    message = 'pods "x" is forbidden: exceeded quota: q, requested: cpu=8,memory=2Gi, used: cpu=4,memory=3Gi, limited: cpu=8,memory=4Gi'
    why = explain(EVENT, "FailedCreate", message)
    assert why.reasons == (
        Reason("NamespaceQuotaExceeded", None, "cpu", needed="8", available="4", short_by="4"),
        Reason("NamespaceQuotaExceeded", None, "memory", needed="2Gi", available="1Gi", short_by="1Gi"),
    )


def test_a_quota_that_is_overdrawn_has_nothing_free() -> None:
    why = explain(EVENT, "", 'pods "x" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=9, limited: cpu=8')
    assert (why.available, why.short_by) == ("0", "1")


def test_the_cause_leaves_out_what_is_said_about_the_gang() -> None:
    why = explain(POD, "", "0/6 nodes are available: 6 Insufficient cpu. 2 of 4 pods of the group could be placed")
    assert dict(why.gang) == {"min": 4, "placed": 2}
    assert why.cause == "6 of 6 machines have too little cpu free"
    assert why.clause.startswith("2 of 4 pods")


def test_foreign_text_is_one_short_line_without_control_characters() -> None:
    why = explain(POD, "", "bad\x1b[31m\nnews\u2028here " + "x" * 5000)
    assert why.code == "Unknown"
    assert len(why.sentence) < 400
    assert why.sentence.isprintable()


def test_nothing_to_say() -> None:
    why = explain("", "", "")
    assert (why.code, why.sentence, why.known) == ("Unknown", "", False)


PARTS = [
    "0/3 nodes are available: ",
    "3 Insufficient ",
    "4/0 tasks in gang unschedulable: ",
    "exceeded quota: q, requested: ",
    "minCount (",
    "{",
    "}",
    "a=1",
    ", ",
    ". ",
    "preemption:",
    "in flavor",
    "resource gap: map[",
    "1 more needed",
    "\x00",
    "é",
]


@settings(max_examples=400, deadline=None)
@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.lists(st.sampled_from(PARTS) | st.text(max_size=10), max_size=10).map("".join),
)
def test_no_text_is_an_error(source: str, reason: str, message: str) -> None:
    why = explain(source, reason, message)
    assert why.as_dict()["code"] == why.code
    assert why.sentence == "" or why.sentence.endswith(".")


@pytest.mark.parametrize("context", [None, {}, {"queue": None, "gates": "x", "min_count": "y"}, "no mapping"])
def test_a_context_may_be_anything(context: Any) -> None:
    assert explain(POD, "SchedulingGated", "", context).code == "SchedulingGated"
    assert explain(POD, "", "waiting for minCount pods from a gang", context).known
