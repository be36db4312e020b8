"""How many pods each replicated job has."""

from .containers import Obj
from .draft import Draft, Roles


def set_pods(job: Obj, pods: int) -> None:
    """Give a replicated job this many pods, each with its own index."""
    spec = job.setdefault("template", {}).setdefault("spec", {})
    spec["parallelism"] = pods
    spec["completions"] = pods


def pods(job: Obj) -> int:
    """Return the pods of one replica."""
    parallelism: int | None = job.get("template", {}).get("spec", {}).get("parallelism")
    return 1 if parallelism is None else parallelism


def replicas(job: Obj) -> int:
    """Return the replicas of a replicated job."""
    value: int | None = job.get("replicas")
    return 1 if value is None else value


def total(job: Obj) -> int:
    """Return all pods of a replicated job."""
    return replicas(job) * pods(job)


def keep_template_counts(draft: Draft) -> None:
    """Fill in the pod counts the runtime leaves out; what it sets stays.

    Upstream overwrites completions and turns parallelism 0 into 1 (conformance obj-plain-023).
    """
    for job in draft.jobs:
        spec = job.setdefault("template", {}).setdefault("spec", {})
        if spec.get("parallelism") is None:
            spec["parallelism"] = 1
        if spec.get("completions") is None:
            spec["completions"] = spec["parallelism"]


def set_trainer_counts(draft: Draft, who: Roles) -> None:
    """Give the trainer's jobs as many pods as there are nodes.

    A runtime without mlPolicy keeps the count of its template unless the TrainJob names one. The TrainJob's number is
    that of the first trainer job; others keep the runtime's (conformance obj-plain-027).
    """
    has_policy = (draft.runtime.get("spec") or {}).get("mlPolicy") is not None
    for place, job in enumerate(who.trainers):
        if place == 0 and draft.requested_nodes:
            set_pods(job, draft.nodes)
        elif has_policy:
            set_pods(job, draft.runtime_nodes)
        job["replicas"] = 1
