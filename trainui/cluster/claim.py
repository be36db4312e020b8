"""One reconciler per cluster: a Lease that the processes of an installation hold together, and a look at Kubeflow's own controller.

Upstream's `managedBy` knows no third value, so two reconcilers of TrainJobs would undo each other's work. Clocks of machines differ: a
lease counts as held until nobody has renewed it for its duration by our own clock, or until its time is long past.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from trainui.cluster import kinds
from trainui.cluster.client import Cluster, Object
from trainui.cluster.errors import AlreadyExists, Conflict, Forbidden, NotFound, Unavailable
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE, UPSTREAM_LEASE

LEASE_SECONDS = 30
RENEW_SECONDS = 10
TRIES = 3
LONG_PAST = timedelta(minutes=5)  # more than clocks of machines may differ

_LEASE = f"{LEASE_NAMESPACE}/{LEASE_NAME}"


class Taken(Unavailable):
    """Somebody else reconciles the TrainJobs of this cluster; the text says who, and what to do."""


@dataclass
class Watched:
    """Tells leases that are held from those that were left behind, by whether they change while we look."""

    monotonic: Callable[[], float] = time.monotonic
    seen: dict[str, tuple[tuple[Any, ...], float]] = field(default_factory=dict)

    def held(self, lease: Object, now: datetime) -> bool:
        """Whether somebody holds a lease."""
        spec, key = lease.get("spec") or {}, _place(lease)
        if not spec.get("holderIdentity"):
            return False
        mark = (spec["holderIdentity"], spec.get("renewTime"), lease["metadata"].get("resourceVersion"))
        before = self.seen.get(key)
        if before is None or before[0] != mark:
            self.seen[key] = before = (mark, self.monotonic())
        renewed = _time(spec.get("renewTime"))
        if renewed is None or now - renewed > LONG_PAST:
            return False
        return self.monotonic() - before[1] <= float(spec.get("leaseDurationSeconds") or LEASE_SECONDS)


class Claim:
    """The claim of one installation on one cluster; may be used from many threads.

    identity: the same in every process of the installation, and in no other installation.
    """

    def __init__(
        self,
        identity: str,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.identity = identity
        self._monotonic, self._clock = monotonic, clock
        self._leases = Watched(monotonic)
        self._lock = threading.Lock()
        self._good_until = float("-inf")

    def ensure(self, cluster: Cluster) -> None:
        """Return while the cluster is ours to reconcile; takes or renews the Lease when that is due.

        Raises Taken while another installation or Kubeflow's controller is at work, ClusterError when the API server does not let us know.
        """
        with self._lock:
            if self._monotonic() < self._good_until:
                return
            began = self._monotonic()
            self._refuse_upstream(cluster)
            self._hold(cluster)
            self._good_until = began + RENEW_SECONDS

    def _refuse_upstream(self, cluster: Cluster) -> None:
        found, _ = cluster.list(kinds.LEASE, field_selector=f"metadata.name={UPSTREAM_LEASE}")
        for lease in found:
            if self._leases.held(lease, self._clock()):
                where = lease["metadata"]["namespace"]
                raise Taken(
                    f"Kubeflow's Trainer controller runs in this cluster (Lease {where}/{UPSTREAM_LEASE}) and reconciles its TrainJobs. "
                    f"Stop it before trainui takes over: kubectl -n {where} scale deployment kubeflow-trainer-controller-manager --replicas=0"
                )

    def _hold(self, cluster: Cluster) -> None:
        for _ in range(TRIES):
            try:
                self._take(cluster)
                return
            except (AlreadyExists, Conflict):  # another process was faster: look whether it is one of ours
                continue
            except Forbidden as error:
                raise Unavailable(
                    f"{error.message}. trainui may not hold the Lease that keeps two installations apart: kubectl apply -f deploy/rbac.yaml",
                    verb="hold",
                    what=_LEASE,
                ) from error
        raise Unavailable("others change it all the time; it is tried again", verb="hold", what=_LEASE)

    def _take(self, cluster: Cluster) -> None:
        try:
            lease = cluster.get(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME)
        except NotFound:
            cluster.create(self._lease())
            return
        spec = lease.get("spec") or {}
        mine = spec.get("holderIdentity") == self.identity
        if not mine and self._leases.held(lease, self._clock()):
            raise Taken(
                f"another installation of trainui, {spec['holderIdentity']}, reconciles the TrainJobs of this cluster "
                f"(Lease {_LEASE}, renewed {spec.get('renewTime')}). Stop it, or give this one another cluster."
            )
        renewed = _time(spec.get("renewTime"))
        if mine and renewed and abs(self._clock() - renewed) < timedelta(seconds=RENEW_SECONDS):
            return  # another process of ours has just renewed it
        new = self._spec()
        if not mine:
            new |= {"acquireTime": new["renewTime"], "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1}
        patch = {"metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]}, "spec": new}
        cluster.merge_patch(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME, patch)

    def _lease(self) -> Object:
        spec = self._spec()
        return {
            "apiVersion": kinds.LEASE.api_version,
            "kind": kinds.LEASE.kind,
            "metadata": {"name": LEASE_NAME, "namespace": LEASE_NAMESPACE},
            "spec": spec | {"acquireTime": spec["renewTime"], "leaseTransitions": 0},
        }

    def _spec(self) -> Object:
        now = _text(self._clock())
        return {"holderIdentity": self.identity, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}


def _place(lease: Object) -> str:
    return f"{lease['metadata'].get('namespace', '')}/{lease['metadata']['name']}"


def _text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
