"""What the cluster has and lacks, from the facts of the last survey, each lack with what mends it. The judgement is pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.models import ClusterSurvey
from jobs.queries.cluster import Served, served_kinds
from trainui.cluster import kinds, releases
from trainui.cluster.kinds import Kind
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE

OK, LACKS, WARNS, ABSENT, UNKNOWN = "ok", "lacks", "warns", "absent", "unknown"
OLDEST_MINOR = 30  # match conditions of webhooks
SKEW_SECONDS = 5
_GANGS = {
    kinds.POD_GROUP: "Kubernetes’ own pod groups",
    kinds.COSCHEDULING_POD_GROUP: "scheduler-plugins",
    kinds.VOLCANO_POD_GROUP: "Volcano",
}
# Without their server they refuse every change of a TrainJob.
_UPSTREAM_WEBHOOKS = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o name | grep trainer.kubeflow.org | xargs kubectl delete"
Facts = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    state: ok; lacks (jobs cannot run as they should); warns; absent (trainui can do without it); unknown.
    remedy: commands or steps that mend it, "" when nothing is to be mended.
    """

    key: str
    title: str
    state: str
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Survey:
    """The last survey. at: when the facts were found. problem: why newer ones could not be."""

    checks: list[Check]
    at: datetime | None
    problem: str


def survey_of_cluster() -> Survey:
    """Return what is known of the cluster at large: two queries, no call."""
    row = ClusterSurvey.objects.filter(pk=1).first()
    if row is None:
        return Survey([], None, "The cluster has not been looked at yet.")
    return Survey(judge(row.facts, served_kinds()) if row.at else [], row.at, row.problem)


def judge(facts: Facts, served: Sequence[Served]) -> list[Check]:
    """Return all checks, what is wrong first. Pure."""
    found = [*_serious(facts, served), *_optional(facts)]
    order = (LACKS, WARNS, UNKNOWN, OK, ABSENT)
    return sorted(found, key=lambda check: order.index(check.state))


def _serious(facts: Facts, served: Sequence[Served]) -> Iterator[Check]:
    yield _reconciler(facts)
    yield _permissions(facts.get("denied"))
    trainer = (kinds.TRAIN_JOB, kinds.CLUSTER_TRAINING_RUNTIME, kinds.TRAINING_RUNTIME)
    yield _definitions("trainer", "Kubeflow Trainer’s kinds", trainer, facts, served, releases.TRAINER)
    yield _definitions("jobset", "JobSet", (kinds.JOB_SET,), facts, served, releases.JOBSET)
    yield _version(str(facts.get("version") or ""))
    yield _clock(int(facts.get("skew_seconds") or 0))


def _optional(facts: Facts) -> Iterator[Check]:
    yield _gangs(facts.get("groups") or [])
    yield from _schedulers(facts.get("schedulers") or [])
    yield _kueue(facts.get("groups") or [])


def _reconciler(facts: Facts) -> Check:
    title, lease = "One reconciler", f"Lease {LEASE_NAMESPACE}/{LEASE_NAME}"
    if upstream := facts.get("upstream"):
        where = upstream[0]
        text = f"Kubeflow’s Trainer controller runs in {where}. It would undo what trainui does, so trainui leaves the TrainJobs alone."
        command = f"kubectl -n {where} scale deployment kubeflow-trainer-controller-manager --replicas=0\n{_UPSTREAM_WEBHOOKS}"
        return Check("reconciler", title, LACKS, text, command)
    holder, ours = facts.get("holder"), facts.get("installation")
    if holder and holder != ours:
        text = f"Another installation, {holder}, reconciles the TrainJobs of this cluster ({lease}); this one ({ours}) stands by."
        step = f"Stop that installation, or give this one another cluster.\nkubectl -n {LEASE_NAMESPACE} get lease {LEASE_NAME} -o yaml"
        return Check("reconciler", title, LACKS, text, step)
    if not holder:
        return Check("reconciler", title, UNKNOWN, f"Nobody holds the {lease} yet: watch takes it when it starts.")
    return Check("reconciler", title, OK, f"This installation holds the {lease}; Kubeflow’s controller does not run.")


def _permissions(denied: list[Facts] | None) -> Check:
    title = "Permissions"
    if denied is None:
        return Check("permissions", title, UNKNOWN, "The cluster does not tell what trainui’s account may do.")
    if not denied:
        return Check("permissions", title, OK, "trainui’s account may do everything that it has to.")
    # An access review of a kind that does not exist is answered all the same: what is denied was never granted.
    lines = [f"{d['verb']} {d['resource']} ({d['purpose']})" for d in denied]
    return Check(
        "permissions", title, LACKS, "trainui’s account may not " + "; ".join(lines) + ".", "kubectl apply -f deploy/rbac.yaml"
    )  # fmt: skip


def _definitions(key: str, title: str, wanted: Sequence[Kind], facts: Facts, served: Sequence[Served], command: str) -> Check:  # fmt: skip
    groups, states = set(facts.get("groups") or []), {s.kind: s for s in served}
    missing = [kind for kind in wanted if kind.api_version not in groups or _said_missing(states.get(kind))]
    if missing:
        names = ", ".join(f"{kind.kind} ({kind.api_version})" for kind in missing)
        return Check(key, title, LACKS, f"The cluster does not serve {names}.", command)
    return Check(key, title, OK, f"Served as {', '.join(sorted({kind.api_version for kind in wanted}))}.")


def _said_missing(served: Served | None) -> bool:
    return served is not None and served.problem.startswith("the cluster has no ")


def _version(version: str) -> Check:
    found = re.match(r"v?1\.(\d+)", version)
    if found is None:
        return Check("version", "Kubernetes", UNKNOWN, f"Version {version or 'unknown'}.")
    if int(found[1]) < OLDEST_MINOR:
        text = f"{version} is older than 1.{OLDEST_MINOR}: the API server cannot tell trainui’s own writes apart when it asks the admission webhook."
        return Check("version", "Kubernetes", WARNS, text, f"Upgrade the control plane to 1.{OLDEST_MINOR} or newer.")
    return Check("version", "Kubernetes", OK, f"{version}.")


def _clock(skew: int) -> Check:
    if abs(skew) < SKEW_SECONDS:
        return Check("clock", "Clocks", OK, "The API server and trainui agree on the time.")
    text = f"The API server’s clock is {abs(skew)} s {'ahead of' if skew > 0 else 'behind'} trainui’s: ages and durations on pages are wrong by that."
    return Check("clock", "Clocks", WARNS, text, "timedatectl set-ntp true    # on the machines of trainui and of the control plane")  # fmt: skip


def _gangs(groups: list[str]) -> Check:
    found = [name for kind, name in _GANGS.items() if kind.api_version in groups]
    if found:
        return Check("gangs", "Gang scheduling", OK, f"By {', '.join(found)}.")
    text = "No kind of pod group is served: nodes of a job are placed one by one, and two large jobs may wait for each other for ever."
    return Check("gangs", "Gang scheduling", WARNS, text, releases.GANG)


def _schedulers(schedulers: list[Facts]) -> Iterator[Check]:
    idle = [s["name"] for s in schedulers if s["pods"] and not s["placed"]]
    if idle:
        text = f"No pod that names the scheduler {', '.join(idle)} has a machine: it may not run."
        yield Check("schedulers", "Schedulers", WARNS, text, "kubectl get pods -A | grep -i scheduler")
    elif schedulers:
        said = ", ".join(f"{s['name']} ({s['placed']} of {s['pods']} pods have a machine)" for s in schedulers)
        yield Check("schedulers", "Schedulers", OK, f"Pods of jobs name {said}.")


def _kueue(groups: list[str]) -> Check:
    versions = [group for group in groups if group.startswith("kueue.x-k8s.io/")]
    if versions:
        return Check("kueue", "Kueue", OK, f"Queues with quota, served as {versions[-1]}.")
    text = "Not installed: jobs start as soon as there is room. It gives queues with quota for several teams."
    return Check("kueue", "Kueue", ABSENT, text, releases.KUEUE)
