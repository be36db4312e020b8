"""Steps 4 and 5: nothing was made of the TrainJob yet, or nothing since it was resumed."""

from jobs.state import phases
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.reading import MAX_ERROR, dig, mapping, moment, number, quote, text
from jobs.state.times import words
from jobs.state.view import GRACE, View

CREATION_FAILED = "TrainJobResourcesCreationFailed"
JOBSET_CRD = "jobsets.jobset.x-k8s.io"


def decide(view: View) -> Verdict | None:
    """Return why there is no JobSet, or no pod after a resume, or None if there is."""
    if not view.jobset:
        return _create_failed(view) or _runtime_missing(view) or _awaiting(view)
    return _resuming(view)


def _create_failed(view: View) -> Verdict | None:
    error = mapping(view.record, "apply_error")
    if error:
        detail = quote(text(error, "text") or text(error, "message"), MAX_ERROR) or "no reason was given"
        tries = number(error, "attempts")
        since = moment(error, "since") or moment(error, "time")
        return say(
            phases.MISCONFIGURED,
            "CreateFailed",
            detail=f"{detail} ({tries} tries)" if tries > 1 else detail,
            since=since,
        )
    said = [
        event
        for event in view.events.about("TrainJob", view.name, view.uid)
        if event.reason == CREATION_FAILED and not (event.time and view.created_at and event.time < view.created_at)
    ]
    if said:
        return say(phases.MISCONFIGURED, "CreateFailed", detail=quote(said[-1].message, MAX_ERROR), since=said[-1].time)
    if view.crds is not None and JOBSET_CRD not in view.crds:
        return say(
            phases.MISCONFIGURED, "CreateFailed", detail=f"JobSet is not installed in the cluster ({JOBSET_CRD})"
        )
    return None


def _runtime_missing(view: View) -> Verdict | None:
    if view.record.get("runtime_exists") is not False:
        return None
    name = text(view.trainjob, "spec", "runtimeRef", "name") or "(not named)"
    return say(phases.MISCONFIGURED, "RuntimeNotFound", runtime=name, since=view.began)


def _awaiting(view: View) -> Verdict:
    age = view.age(view.began)
    if age <= GRACE:
        recheck = view.began + GRACE if view.began else view.now + GRACE
        return say(phases.CREATING, "AwaitingController", since=view.began, recheck=recheck)
    theirs = text(view.record, "reconciler") == "kubeflow"
    who = "Kubeflow's trainer controller" if theirs else "trainui's watch and worker"
    return say(
        phases.CREATING,
        "ControllerSilent",
        age=words(age),
        who=who,
        since=view.began,
        recheck=view.now + max(GRACE, age / 2),
    )


def _resuming(view: View) -> Verdict | None:
    """Resumed, and still no pods. Once the JobSet is running and a minute has passed, missing pods have another reason."""
    held = dig(view.jobset, "spec", "suspend") is True
    fresh = view.resumed_at is not None and view.age(view.resumed_at) < GRACE
    if view.pods or not (held or fresh):
        return None
    age = f" {words(view.age(view.resumed_at))} ago" if view.resumed_at else ""
    recheck = view.resumed_at + GRACE if fresh and view.resumed_at else None
    return say(phases.CREATING, "Resuming", age=age, since=view.resumed_at, recheck=recheck)
