"""Messages about lost machines, volumes on their way and jobs that are held."""

import re

from jobs.state.explain.model import Explanation
from jobs.state.reading import Object, quote

_LOSSES = (
    (
        re.compile(r"Taint manager: deleting due to NoExecute taint"),
        "MachineLost",
        "its machine was lost or drained (NoExecute taint)",
    ),
    (re.compile(r"node no longer exists"), "MachineLost", "its machine does not exist any more"),
    (re.compile(r"Marking for deletion Pod "), "MachineLost", "it is removed because its machine was lost or drained"),
    (
        re.compile(r"Removing Node (?P<name>\S+) from Controller"),
        "MachineLost",
        "machine {name} was removed from the cluster",
    ),
    (re.compile(r"^Node is not ready$"), "MachineNotReady", "its machine has stopped reporting"),
    (re.compile(r"Kubelet stopped posting node status"), "MachineNotReady", "the machine has stopped reporting"),
    (
        re.compile(r"[Pp]reempting to accommodate a higher priority pod(?:group)?"),
        "Preempted",
        "stopped to make room for a job of higher priority",
    ),
    (re.compile(r"^Preempted by pod(?:group)? "), "Preempted", "stopped to make room for a job of higher priority"),
)
_VOLUMES = (
    (re.compile(r"waiting for first consumer to be created"), "the volume is made once a pod that uses it is placed"),
    (re.compile(r"waiting for pod (?P<name>\S+) to be scheduled"), "the volume is made once pod {name} is placed"),
    (re.compile(r"Waiting for a volume to be created"), "the volume is being made by its provisioner"),
    (re.compile(r'storageclass\S* "(?P<name>[^"]+)" not found'), "the storage class {name} does not exist"),
)
_HELD = re.compile(r"^(?P<what>Job|[Jj]ob[Ss]et|TrainJob) (?:is )?(?P<how>suspended|resumed)$")


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return what a message about a machine, a volume or a hold says, or None."""
    for pattern, code, clause in _LOSSES:
        match = pattern.search(message)
        if match:
            return Explanation(code, clause.format_map({k: quote(v, 80) for k, v in match.groupdict().items()}))
    for pattern, clause in _VOLUMES:
        match = pattern.search(message)
        if match:
            return Explanation(
                "VolumeNotBound", clause.format_map({k: quote(v, 80) for k, v in match.groupdict().items()})
            )
    held = _HELD.match(message.strip())
    if held:
        suspended = held["how"] == "suspended"
        return Explanation(
            "Suspended" if suspended else "Resumed", "it is suspended" if suspended else "it was resumed and goes on"
        )
    return None
