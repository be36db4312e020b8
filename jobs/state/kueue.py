"""What Kueue's Workload of a suspended job says. Conditions with status False, such as an old eviction, say nothing."""

from datetime import datetime

from jobs.state import phases
from jobs.state.codes import say
from jobs.state.explain import Explanation, explain
from jobs.state.model import Verdict
from jobs.state.reading import Object, condition, dig, holds, mapping, moment, number, objects, quote, text
from jobs.state.times import words
from jobs.state.view import View, is_true
from jobs.state.wording import after, capital, listed

# What an explanation of QuotaReserved=False means for the job: (phase, code).
_WAITS = {
    "WaitingForQuota": (phases.QUEUED, "WaitingForQuota"),
    "ExceedsMaxQuota": (phases.QUEUED, "ExceedsMaxQuota"),
    "NoMatchingFlavor": (phases.QUEUED, "NoMatchingFlavor"),
    "TopologyNotFree": (phases.QUEUED, "WaitingForQuota"),
    "QueueClosedToProject": (phases.QUEUED, "NoMatchingFlavor"),
    "QueueStopped": (phases.QUEUED, "QueueStopped"),
    "WaitingForPreemption": (phases.QUEUED, "WaitingForPreemption"),
    "LocalQueueMissing": (phases.MISCONFIGURED, "LocalQueueMissing"),
    "ClusterQueueMissing": (phases.MISCONFIGURED, "ClusterQueueMissing"),
}
_STOPPED = frozenset({"ClusterQueueStopped", "LocalQueueStopped"})


def queue_name(view: View) -> str:
    """Return the queue of the job: what its Workload says, else its label."""
    return text(view.workload, "spec", "queueName") or view.queue or "(none)"


def preempted(view: View) -> Verdict | None:
    """Return Preempted if Kueue has taken the job out for another one and not admitted it again; not for one that is held since."""
    if _held(view):
        return None
    evicted, preempted_by = condition(view.workload, "Evicted"), condition(view.workload, "Preempted")
    taken = holds(evicted) and evicted.get("reason") == "Preempted"
    if not taken and not holds(preempted_by):
        return None
    message = text(evicted, "message") if taken else text(preempted_by, "message")
    why = explain("workload Evicted=True", "Preempted", message)
    since = moment(evicted if taken else preempted_by, "lastTransitionTime")
    return say(phases.PREEMPTED, "PreemptedByKueue", queue=queue_name(view), detail=capital(why.clause), since=since)


def verdict(view: View) -> Verdict:
    """Return the state of a suspended job without pods that has a Workload."""
    work = view.workload
    evicted = condition(work, "Evicted")
    reason = text(evicted, "reason") if holds(evicted) else ""
    since = moment(evicted, "lastTransitionTime")
    queue = queue_name(view)
    if _held(view):
        return _inactive(view, text(evicted, "message") if reason.startswith("Deactivated") else "", since)
    if is_true(work, "QuotaReserved"):
        return _reserved(view)
    if reason == "PodsReadyTimeout":
        return say(
            phases.PREEMPTED,
            "PodsReadyTimeout",
            queue=queue,
            detail=_next_try(view),
            since=since,
            recheck=_requeue_at(work),
        )
    if reason == "NodeFailures":
        said = after(quote(text(evicted, "message")))
        return say(phases.PREEMPTED, "NodeFailures", queue=queue, detail=f"{said}{_next_try(view)}", since=since)
    if reason.startswith("AdmissionCheck"):
        detail = quote(text(evicted, "message")) or "an admission check has failed"
        return say(
            phases.QUEUED, "AdmissionCheckPending", queue=queue, detail=f"took it out again: {detail}", since=since
        )
    if reason in _STOPPED:
        why = explain("workload Evicted=True", reason, text(evicted, "message"))
        return say(phases.QUEUED, "QueueStopped", queue=queue, detail=why.clause, since=since)
    return _waiting(view)


def _held(view: View) -> bool:
    """Whether the job is out of its queue until somebody says so. Its eviction does not tell: it stands until the next admission."""
    return dig(view.workload, "spec", "active") is False


def _inactive(view: View, message: str, since: datetime | None) -> Verdict:
    by = text(view.record, "suspended_by")
    too_often = "re-queuing" in message or "requeuing" in message.lower()
    detail = ": it was requeued too often without becoming ready" if too_often else f": held by {by}" if by else ""
    return say(phases.SUSPENDED, "WorkloadDeactivated", queue=queue_name(view), detail=detail, since=since)


def _reserved(view: View) -> Verdict:
    work = view.workload
    admitted = condition(work, "Admitted")
    if holds(admitted):
        since = moment(admitted, "lastTransitionTime")
        return say(phases.CREATING, "Admitted", queue=queue_name(view), since=since)
    checks = [check for check in objects(work, "status", "admissionChecks") if check.get("state") != "Ready"]
    names = sorted(_check(check) for check in checks)
    open_checks = f"the admission check{'s' if len(names) > 1 else ''} {listed(names)}"
    detail = f"has reserved quota and waits for {open_checks if names else 'an admission check'}"
    since = moment(condition(work, "QuotaReserved"), "lastTransitionTime")
    return say(phases.QUEUED, "AdmissionCheckPending", queue=queue_name(view), detail=detail, since=since)


def _check(check: Object) -> str:
    name, state, message = text(check, "name"), text(check, "state"), quote(text(check, "message"))
    return f"{name} ({state.lower()}{after(message)})" if message or state not in ("", "Pending") else name


def _waiting(view: View) -> Verdict:
    work = view.workload
    reserved = condition(work, "QuotaReserved")
    queue, since = queue_name(view), moment(reserved, "lastTransitionTime")
    asked = {text(item, "name"): mapping(item, "resources") for item in objects(work, "status", "resourceRequests")}
    context = {"requests": asked}
    why = explain("workload QuotaReserved=False", text(reserved, "reason"), text(reserved, "message"), context)
    phase, code = _WAITS.get(why.code, (phases.QUEUED, "PendingEvaluation"))
    if code == "PendingEvaluation":
        since = since or moment(work, "metadata", "creationTimestamp")
        stale = why.code == "WorkloadDeactivated"  # told of the hold that is over
        return say(phase, code, queue=queue, detail="" if stale else after(_unknown(why)), since=since)
    named = why.queue if phase == phases.MISCONFIGURED and why.queue else queue
    return say(phase, code, queue=named, detail=why.clause, namespace=view.namespace, since=since)


def _unknown(why: Explanation) -> str:
    return why.clause if why.known or why.raw else ""


def _requeue_at(work: Object) -> datetime | None:
    return moment(work, "status", "requeueState", "requeueAt")


def _next_try(view: View) -> str:
    work = view.workload
    again, tries = _requeue_at(work), number(work, "status", "requeueState", "count")
    nth = f" (try {tries})" if tries else ""
    if again and again > view.now:
        return f"{nth}; it is queued again in {words(again - view.now)}"
    return f"{nth}; it is queued again on its own"
