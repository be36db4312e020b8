"""What the cluster has, from settings and from what watch found; no network."""

from django.conf import settings

from jobs.builders.capabilities import Capabilities, GangScheduler, Progress, Rendezvous
from jobs.models import WatchState
from trainui.cluster import kinds

_GANGS: dict[str, GangScheduler] = {
    kinds.POD_GROUP.key: "in_tree",
    kinds.COSCHEDULING_POD_GROUP.key: "coscheduling",
    kinds.VOLCANO_POD_GROUP.key: "volcano",
}


def capabilities(rendezvous: Rendezvous | None = None, progress: Progress | None = None) -> Capabilities:
    """Return what builders need to know of the cluster.

    On the local cluster (pod names do not resolve) the gang scheduler is known; elsewhere it is what watch could list.
    """
    if not settings.POD_DNS:
        return Capabilities.local(rendezvous, progress)
    served = dict(
        WatchState.objects.filter(kind__in=_GANGS, problem="", listed_at__isnull=False).values_list("kind", "version")
    )
    found = frozenset(_GANGS[key] for key in served)
    preferred: tuple[GangScheduler, ...] = ("in_tree", "volcano", "coscheduling")
    return Capabilities(
        gang_schedulers=found,
        auto_gang=next((g for g in preferred if g in found), None),
        in_tree_version=served.get(kinds.POD_GROUP.key) or kinds.POD_GROUP.version,
        progress=progress,
    )
