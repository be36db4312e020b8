"""Messages of the Job and JobSet controllers about the end of an attempt, or of the job."""

import re

from jobs.state.explain.model import Explanation
from jobs.state.reading import Object, quote

_FIRST = re.compile(r"first failed job: (?P<job>[^)\s]+)")
_OUTCOMES = (
    (
        "reaching max number of restarts",
        "MaxRestartsReached",
        "it failed once more than it may be started again{first}",
    ),
    ("due to one or more job failures", "JobFailed", "a Job of it failed{first}"),
    ("failure policy action", "JobSetRestart", "all its pods are started again because a Job failed{first}"),
    ("reached the specified backoff limit", "JobFailed", "a pod failed, and its Job does not start it again"),
    ("active longer than specified deadline", "DeadlineExceeded", "it ran longer than its deadline allows"),
    ("jobset failed", "JobFailed", "a Job of it failed{first}"),
)


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return what a controller says about a failed Job or JobSet, or None."""
    first = _FIRST.search(message)
    named = f" (first {quote(first['job'], 80)})" if first else ""
    for text, code, clause in _OUTCOMES:
        if text in message:
            return Explanation(code, clause.format(first=named))
    return None
