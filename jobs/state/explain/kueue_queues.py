"""Messages about Kueue's queues themselves, and about the way back into them."""

import re

from jobs.state.explain.model import Explanation
from jobs.state.reading import Object, quote

_CLOSED = re.compile(r"Can't admit new workloads: (?P<why>.+?)\.?$", re.DOTALL)
_MISSING = re.compile(r"references missing (?P<kind>ResourceFlavor|AdmissionCheck)\(s\): (?P<names>[^.;]+)")
_INACTIVE = re.compile(r"references inactive AdmissionCheck\(s\): (?P<names>[^.;]+)")


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return what a message about a queue, or about being queued again, says; None if it is none."""
    closed = _CLOSED.search(message)
    if closed:
        return Explanation("QueueStopped", f"its ClusterQueue admits nothing: {_why(closed['why'])}")
    if "Can't submit new workloads to clusterQueue" in message:
        if reason == "ClusterQueueDoesNotExist":
            return Explanation("ClusterQueueMissing", "the ClusterQueue of its LocalQueue does not exist")
        return Explanation("QueueStopped", "the ClusterQueue of its LocalQueue admits nothing")
    if reason == "PreemptedWorkload" or message.startswith("Preempted workload "):
        return Explanation("MadeRoom", "another workload of lower priority was preempted to make room for it")
    if reason in ("ClusterQueueRestarted", "LocalQueueRestarted"):
        return Explanation("Requeued", "it is queued again because its queue admits jobs again")
    if "workload backoff was finished" in message:
        return Explanation("Requeued", "it is queued again because the pause after its last try is over")
    return None


def _why(text: str) -> str:
    missing, inactive = _MISSING.search(text), _INACTIVE.search(text)
    if missing:
        kind = "flavor" if missing["kind"] == "ResourceFlavor" else "admission check"
        return f"it names a {kind} that does not exist ({quote(missing['names'], 120)})"
    if inactive:
        return f"its admission check is not active ({quote(inactive['names'], 120)})"
    return "it is stopped" if "is stopped" in text else quote(text, 160)
