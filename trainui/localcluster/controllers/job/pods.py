"""The pods of a Job by what has become of them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.controllers.job.index import valid_index
from trainui.localcluster.controllers.meta import (
    created,
    has_finalizer,
    is_deleting,
    pod_ended,
    pod_phase,
    pod_ready,
)

Obj = dict[str, Any]

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of a pod whose outcome is not yet in its Job's status."""


@dataclass(slots=True)
class Sorted:
    """Pods of a Job: active (may still succeed), terminating, and those whose outcome is new (not counted yet)."""

    active: list[Obj] = field(default_factory=list)
    terminating: list[Obj] = field(default_factory=list)
    new_succeeded: list[Obj] = field(default_factory=list)
    new_failed: list[Obj] = field(default_factory=list)


def sort_pods(job: Obj, pods: Iterable[Obj]) -> Sorted:
    """Return the pods of a Job sorted; of an Indexed Job those with an index out of range have no outcome."""
    found = Sorted()
    for pod in pods:
        if not pod_ended(pod):
            (found.terminating if is_deleting(pod) else found.active).append(pod)
        if not has_finalizer(pod, TRACKING) or (is_indexed(job) and valid_index(pod, completions_of(job) or 0) is None):
            continue
        if pod_phase(pod) == "Succeeded":
            found.new_succeeded.append(pod)
        elif is_failed(job, pod):
            found.new_failed.append(pod)
    return found


def is_failed(job: Obj, pod: Obj) -> bool:
    """Tell whether a pod counts as failed: it is, or it is being deleted and the Job does not wait for its end."""
    if pod_phase(pod) == "Failed":
        return True
    return is_deleting(pod) and pod_phase(pod) != "Succeeded" and not replaces_only_failed(job)


def is_indexed(job: Obj) -> bool:
    """Tell whether the Job gives each pod a completion index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def replaces_only_failed(job: Obj) -> bool:
    """Tell whether a pod is replaced only once it has ended: podReplacementPolicy Failed, the default with a podFailurePolicy."""
    default = "Failed" if job["spec"].get("podFailurePolicy") else "TerminatingOrFailed"
    return bool(job["spec"].get("podReplacementPolicy", default) == "Failed")


def parallelism_of(job: Obj) -> int:
    """Return how many pods may run at once; 1 when it does not say."""
    wanted = job["spec"].get("parallelism")
    return 1 if wanted is None else int(wanted)


def completions_of(job: Obj) -> int | None:
    """Return how many pods have to succeed, or None for a work queue (parallelism without completions).

    Without either a Job is one pod; an Indexed Job always has a number.
    """
    spec = job["spec"]
    if spec.get("completions") is not None:
        return int(spec["completions"])
    if is_indexed(job):
        return parallelism_of(job)
    return None if spec.get("parallelism") is not None else 1


def backoff_limit_of(job: Obj) -> int:
    """Return how many failures a Job bears: 6 when it does not say, without limit when each index has its own."""
    limit = job["spec"].get("backoffLimit")
    if limit is not None:
        return int(limit)
    return 2**31 - 1 if job["spec"].get("backoffLimitPerIndex") is not None else 6


def surplus(job: Obj, active: Iterable[Obj], too_many: int) -> list[Obj]:
    """Return the active pods that have to go: of an Indexed Job those without a valid index and doubles, then `too_many` in all.

    Pods that have come less far go first: without a machine, pending, not ready, younger.
    """
    ranked = sorted(active, key=_progress)
    removed: list[Obj] = []
    left = ranked
    if is_indexed(job):
        best: dict[int, Obj] = {}
        for pod in ranked:
            index = valid_index(pod, completions_of(job) or 0)
            if index is None:
                removed.append(pod)
                continue
            if index in best:
                removed.append(best[index])
            best[index] = pod
        left = sorted(best.values(), key=_progress)
    return removed + left[: max(too_many - len(removed), 0)]


def _progress(pod: Obj) -> tuple[bool, bool, bool, float]:
    moment = created(pod)
    age = -moment.timestamp() if moment else 0.0
    return (bool((pod.get("spec") or {}).get("nodeName")), pod_phase(pod) == "Running", pod_ready(pod), age)
