"""Rules of the gang schedulers."""

from collections.abc import Iterator
from typing import Any

from jobs.spec.rules.base import Case
from runtimes.spec.access import as_map, dig, numbered, pod_spec, replicated_jobs
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import VOLCANO_QUEUE

# Every cluster has these, whatever its list of priority classes says.
BUILT_IN = ("system-node-critical", "system-cluster-critical")


def volcano(case: Case) -> dict[str, Any] | None:
    """Return the Volcano policy of the runtime, or None."""
    policy = dig(case.runtime, "spec", "podGroupPolicy", "volcano")
    return policy if isinstance(policy, dict) else None


def volcano_queue(case: Case) -> Iterator[Finding]:
    """If a Volcano queue is named, its name is not empty (webhook). The last patch that names one counts."""
    if volcano(case) is None:
        return
    queue = as_map(dig(case.runtime, "spec", "template", "metadata", "annotations")).get(VOLCANO_QUEUE)
    path = "spec.runtimeRef"
    for index, patch in numbered(case.spec.get("runtimePatches")):
        annotations = as_map(dig(patch, "trainingRuntimeSpec", "template", "metadata", "annotations"))
        if VOLCANO_QUEUE in annotations:
            queue = annotations[VOLCANO_QUEUE]
            path = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template.metadata.annotations[{VOLCANO_QUEUE}]"
    if queue == "":
        yield Finding(path, "required", "Volcano queue name must not be empty")


def priority_class(case: Case) -> Iterator[Finding]:
    """The priority class of a Volcano job exists (webhook). Where the cluster's classes are not known, the API server will say."""
    if volcano(case) is None or case.priority_classes is None:
        return
    for job in replicated_jobs(case.runtime):
        name = pod_spec(job).get("priorityClassName")
        if name and name not in BUILT_IN and name not in case.priority_classes:
            yield Finding(
                "spec.runtimeRef", "unknown_reference", f'PriorityClass "{name}" doesn\'t exist', {"name": name}
            )
