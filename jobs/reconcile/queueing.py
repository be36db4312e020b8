"""A pass and the queues: Kueue's Workloads of the job, holding it through them, what it demands, and the place that its queue tells."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jobs.builders.demand import demand
from jobs.reconcile import kueue
from jobs.reconcile.desired import Desired
from runtimes.spec.quantities import QuantityError
from trainui.claimed import claimed
from trainui.cluster import kinds

if TYPE_CHECKING:
    from jobs.reconcile.reconcile import Pass

Object = dict[str, Any]
SOONEST, LATEST = timedelta(seconds=kueue.LOOK_SECONDS), timedelta(seconds=30)
# In which Kueue makes a Workload, or judges one that changed: the TrainJob does not show it.
MOMENT = timedelta(seconds=1)


def read_workloads(this: "Pass") -> None:
    """Read the Workloads of a job that names a queue, and come back while its queue may decide. Raises ClusterError."""
    if this.trainjob is None or not kueue.is_managed(this.trainjob):
        return
    this.cluster = this.cluster or claimed()
    this.workloads = kueue.workloads_of(this.cluster, this.trainjob)
    if this.workloads is not None and not this.job.finished and not kueue.settled(this.workloads):
        waited = (this.now - (this.job.since or this.job.created_at)) / 4
        this.look_again(this.now + min(LATEST, max(SOONEST if this.workloads else MOMENT, waited)))


def is_held(this: "Pass") -> bool:
    """Return whether somebody holds the job through its Workload, which Kueue may not have carried out yet."""
    return any(kueue.is_held(workload) for workload in this.workloads or [])


def hold(this: "Pass", held: bool) -> bool:
    """Hold a job that Kueue manages, or let it queue again; False while its Workload is not there yet. Raises ClusterError."""
    this.look_again(this.now + MOMENT)
    if not this.workloads:
        return False
    assert this.cluster is not None
    cluster = this.cluster
    this.workloads = [kueue.hold(cluster, workload, held) for workload in this.workloads]
    return True


def demand_of(this: "Pass", wanted: Desired) -> Object:
    """Return what a job demands, with its priority as far as its pods or its queue tell; {} for amounts that nobody can read."""
    assert this.trainjob is not None
    try:
        found = demand(this.trainjob, wanted.objects, wanted.gang)
    except QuantityError:
        return {}
    given = [pod["spec"].get("priority") or 0 for pod in this.mirror.all(kinds.POD)]
    told = [int((workload.get("spec") or {}).get("priority") or 0) for workload in this.workloads or []]
    return found | {"priority": max([*given, *told], default=0)}


def place(this: "Pass") -> Object:
    """Return `{"place": ...}` where Kueue tells it, for the state of the row; {} otherwise."""
    if not this.workloads or this.trainjob is None or this.cluster is None:
        return {}
    found = kueue.place_of(this.cluster, this.trainjob, this.workloads)
    return {"place": found} if found else {}
