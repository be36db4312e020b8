"""Messages of schedulers, queues, quotas and webhooks in words: `explain` is the only entry."""

from collections.abc import Mapping
from typing import Any

from jobs.state.explain import admission, kueue, kueue_queues, lifecycle, machines, outcomes, scheduler, volcano
from jobs.state.explain.model import Explanation, Reason
from jobs.state.reading import NOTHING, quote

__all__ = ["Explanation", "Reason", "explain"]

_COMBINED = "(combined from similar events): "
# The first reader that knows the message has the word; the more special ones come first.
_READERS = (
    volcano.explain,
    kueue_queues.explain,
    kueue.explain,
    admission.explain,
    scheduler.explain,
    lifecycle.explain,
    outcomes.explain,
)


def explain(source: str, reason: str, message: str, context: Mapping[str, Any] | None = None) -> Explanation:
    """Return what a message of the cluster means. Never raises; what is not understood has code Unknown and the text as it is.

    source: what said it, such as `pod PodScheduled=False`, `volcano PodGroup event`, `workload QuotaReserved=False`.
    reason, message: as the condition or event has them.
    context: what the message leaves out where it is known: queue, gates, min_count, pods_created, requests (by pod set of Kueue).
    """
    known = context if isinstance(context, Mapping) else NOTHING
    text = message.removeprefix(_COMBINED)
    if source.endswith(("InitiallyScheduled=True", "PodScheduled=True")):
        return Explanation("Scheduled", "it has its machines")  # the message of a success is stale (gang-experiments 3)
    for reader in _READERS:
        found = reader(source, reason, text, known)
        if found is not None:
            return found
    counted = machines.read(text)
    said = quote(text) or quote(reason)
    return Explanation("Unknown", said, raw=quote(text), nodes_total=counted.total if counted else None)
