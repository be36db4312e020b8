"""Failures counted per index: backoffLimitPerIndex. Pure."""

from collections.abc import Collection, Iterable
from typing import Any

from trainui.localcluster.controllers.job import failure_policy
from trainui.localcluster.controllers.job.index import valid_index
from trainui.localcluster.controllers.job.pod_template import FAILURE_COUNT, IGNORED_COUNT
from trainui.localcluster.controllers.job.pods import completions_of
from trainui.localcluster.controllers.meta import annotations_of

Obj = dict[str, Any]


def has_limit_per_index(job: Obj) -> bool:
    """Tell whether each index has its own limit of failures."""
    return job["spec"].get("backoffLimitPerIndex") is not None


def newly_failed_indexes(job: Obj, failed: Iterable[Obj]) -> set[int]:
    """Return the indexes that these newly failed pods end: the limit is reached, or a rule says FailIndex."""
    limit = int(job["spec"]["backoffLimitPerIndex"])
    ended: set[int] = set()
    for pod in failed:
        index = valid_index(pod, completions_of(job) or 0)
        if index is None:
            continue
        action = failure_policy.match(job["spec"].get("podFailurePolicy"), pod).action
        counted = int(annotations_of(pod).get(FAILURE_COUNT, "0"))
        if action == "FailIndex" or (action != "Ignore" and counted >= limit):
            ended.add(index)
    return ended


def awaiting_replacement(job: Obj, failed: Iterable[Obj], settled: Collection[int]) -> dict[int, Obj]:
    """Return, per index that is to be tried again, the failed pod whose count its replacement carries on.

    Such a pod keeps its finalizer until the replacement exists, so that no count is lost; `settled` are the indexes that need none.
    """
    found: dict[int, Obj] = {}
    for pod in failed:
        index = valid_index(pod, completions_of(job) or 0)
        if index is None or index in settled:
            continue
        if index not in found or total_failures(found[index]) <= total_failures(pod):
            found[index] = pod
    return found


def total_failures(pod: Obj) -> int:
    """Return the failures of an index before this pod, ignored ones included."""
    annotations = annotations_of(pod)
    return int(annotations.get(FAILURE_COUNT, "0")) + int(annotations.get(IGNORED_COUNT, "0"))


def failures_after(job: Obj, pod: Obj | None) -> tuple[int, int]:
    """Return the counted and ignored failures that the replacement of a failed pod starts with."""
    if pod is None:
        return 0, 0
    annotations = annotations_of(pod)
    counted, ignored = int(annotations.get(FAILURE_COUNT, "0")), int(annotations.get(IGNORED_COUNT, "0"))
    if failure_policy.match(job["spec"].get("podFailurePolicy"), pod).action == "Ignore":
        return counted, ignored + 1
    return counted + 1, ignored
