"""The pod that a Job creates. Pure."""

import copy
from typing import Any

from trainui.localcluster.controllers.job.index import COMPLETION_INDEX
from trainui.localcluster.controllers.job.pods import TRACKING, is_indexed
from trainui.localcluster.controllers.meta import controller_reference, labels_of, name_of, namespace_of, uid_of

Obj = dict[str, Any]

LONGEST_PREFIX = 58
"""Names are 63 characters at most, five of which are random."""

INDEX_ENV = "JOB_COMPLETION_INDEX"


def build_pod(job: Obj, index: int | None = None, failures: tuple[int, int] | None = None) -> Obj:
    """Return a pod of a Job, for a completion index if the Job is Indexed.

    `failures` are the counted and the ignored failures of the index so far, for a Job with a limit per index.
    """
    template: Obj = copy.deepcopy(job["spec"]["template"])
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), **_job_labels(job)}
    annotations = dict(given.get("annotations") or {})
    spec: Obj = template.get("spec") or {}
    prefix = f"{name_of(job)}-"[:LONGEST_PREFIX]
    if is_indexed(job) and index is not None:
        labels[COMPLETION_INDEX] = annotations[COMPLETION_INDEX] = str(index)
        spec["hostname"] = f"{name_of(job)}-{index}"
        prefix = _indexed_prefix(name_of(job), index)
        for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
            _add_index_env(container)
        if failures is not None:
            counted, ignored = failures
            annotations[FAILURE_COUNT] = str(counted)
            if ignored:
                annotations[IGNORED_COUNT] = str(ignored)
    metadata: Obj = {
        "generateName": prefix,
        "namespace": namespace_of(job),
        "labels": labels,
        "annotations": annotations,
        "finalizers": [*(name for name in given.get("finalizers") or () if name != TRACKING), TRACKING],
        "ownerReferences": [controller_reference(job)],
    }
    return {"metadata": metadata, "spec": spec}


FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"


def _job_labels(job: Obj) -> dict[str, str]:
    """Return the labels by which a Job selects its pods, the old and the new names."""
    name = labels_of(job).get("batch.kubernetes.io/job-name") or name_of(job)[:63]
    uid = uid_of(job)
    return {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }


def _indexed_prefix(name: str, index: int) -> str:
    """Return the start of a pod's name; a long Job name is cut so that the index stays readable."""
    suffix = f"-{index}-"
    return name[: LONGEST_PREFIX - len(suffix)] + suffix


def _add_index_env(container: Obj) -> None:
    env = list(container.get("env") or ())
    if all(entry.get("name") != INDEX_ENV for entry in env):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']", "apiVersion": "v1"}}
        container["env"] = [*env, {"name": INDEX_ENV, "valueFrom": source}]
