"""One reconciler per cluster: who gets the Lease, who is refused, and that Kubeflow's controller is seen. Against a real API server."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.localcluster_api.rig import RunningServer, serving
from trainui.cluster import kinds
from trainui.cluster.claim import LEASE_SECONDS, RENEW_SECONDS, Claim, Taken
from trainui.cluster.client import Cluster
from trainui.cluster.errors import NotFound, Unavailable
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE, UPSTREAM_LEASE


@dataclass
class Clock:
    """A monotonic clock and a wall clock that are moved by hand."""

    seconds: float = 0.0
    wall: datetime = field(default_factory=lambda: datetime(2026, 3, 1, tzinfo=UTC))

    def forward(self, seconds: float) -> None:
        self.seconds += seconds
        self.wall += timedelta(seconds=seconds)

    def claim(self, identity: str, ahead: float = 0.0) -> Claim:
        return Claim(identity, lambda: self.seconds, lambda: self.wall + timedelta(seconds=ahead))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving(tmp_path_factory.mktemp("data"), LEASE_NAMESPACE, "kubeflow-system") as running:
        yield running


@pytest.fixture
def cluster(server: RunningServer) -> Cluster:
    found = Cluster.from_kubeconfig(str(server.folder.kubeconfig))
    for namespace, name in ((LEASE_NAMESPACE, LEASE_NAME), ("kubeflow-system", UPSTREAM_LEASE)):
        try:
            found.delete(kinds.LEASE, namespace, name)
        except NotFound:
            continue
    return found


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lease(cluster: Cluster) -> dict[str, Any]:
    return dict(cluster.get(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME)["spec"])


def upstream(cluster: Cluster, renewed: datetime, holder: str = "controller-1") -> None:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    metadata = {"name": UPSTREAM_LEASE, "namespace": "kubeflow-system"}
    cluster.apply(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}, force=True
    )


def test_the_first_has_it_and_renews_it(cluster: Cluster, clock: Clock) -> None:
    ours = clock.claim("a.example_1")
    ours.ensure(cluster)
    first = lease(cluster)
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("a.example_1", LEASE_SECONDS)
    clock.forward(RENEW_SECONDS + 1)
    ours.ensure(cluster)
    assert lease(cluster)["renewTime"] > first["renewTime"]
    assert lease(cluster)["acquireTime"] == first["acquireTime"]
    assert lease(cluster)["leaseTransitions"] == 0


def test_between_renewals_nothing_is_asked(cluster: Cluster, clock: Clock) -> None:
    ours = clock.claim("a")
    ours.ensure(cluster)
    cluster.delete(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME)
    clock.forward(RENEW_SECONDS - 1)
    ours.ensure(cluster)
    with pytest.raises(NotFound):
        lease(cluster)
    clock.forward(2)
    ours.ensure(cluster)
    assert lease(cluster)["holderIdentity"] == "a"


def test_processes_of_one_installation_hold_it_together(cluster: Cluster, clock: Clock) -> None:
    one, two = clock.claim("a"), clock.claim("a")
    one.ensure(cluster)
    first = lease(cluster)
    clock.forward(1)
    two.ensure(cluster)
    assert lease(cluster) == first
    clock.forward(RENEW_SECONDS)
    two.ensure(cluster)
    one.ensure(cluster)
    assert lease(cluster)["leaseTransitions"] == 0


@pytest.mark.parametrize("ahead", [0.0, 240.0, -240.0])
def test_a_second_installation_is_refused_until_the_first_is_silent(
    cluster: Cluster, clock: Clock, ahead: float
) -> None:
    ours, theirs = clock.claim("a.example_1"), clock.claim("b.example_2", ahead)
    ours.ensure(cluster)
    for _ in range(5):
        with pytest.raises(Taken, match=r"another installation of trainui, a\.example_1, .* Stop it"):
            theirs.ensure(cluster)
        clock.forward(RENEW_SECONDS + 1)
        ours.ensure(cluster)
    with pytest.raises(Taken):
        theirs.ensure(cluster)
    clock.forward(LEASE_SECONDS + 1)
    theirs.ensure(cluster)
    assert (lease(cluster)["holderIdentity"], lease(cluster)["leaseTransitions"]) == ("b.example_2", 1)
    with pytest.raises(Taken):
        ours.ensure(cluster)


def test_what_was_left_behind_long_ago_holds_nobody_up(cluster: Cluster, clock: Clock) -> None:
    clock.claim("a").ensure(cluster)
    clock.forward(3600)
    clock.claim("b").ensure(cluster)
    assert lease(cluster)["holderIdentity"] == "b"


def test_kubeflows_controller_is_seen_and_named(cluster: Cluster, clock: Clock) -> None:
    upstream(cluster, clock.wall)
    ours = clock.claim("a")
    with pytest.raises(Taken, match="kubectl -n kubeflow-system scale deployment"):
        ours.ensure(cluster)
    with pytest.raises(NotFound):
        lease(cluster)
    clock.forward(16)  # it no longer renews
    ours.ensure(cluster)
    upstream(cluster, clock.wall)  # somebody starts it again
    clock.forward(RENEW_SECONDS + 1)
    with pytest.raises(Taken):
        ours.ensure(cluster)


def test_a_lease_that_was_given_up_is_free(cluster: Cluster, clock: Clock) -> None:
    upstream(cluster, clock.wall, holder="")
    clock.claim("a").ensure(cluster)
    cluster.merge_patch(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME, {"spec": {"holderIdentity": ""}})
    clock.claim("b").ensure(cluster)
    assert lease(cluster)["holderIdentity"] == "b"


def test_an_api_server_that_is_away_is_no_refusal(tmp_path: Path, clock: Clock) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "x", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    import json

    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    with pytest.raises(Unavailable) as raised:
        clock.claim("a").ensure(Cluster.from_kubeconfig(str(path)))
    assert not isinstance(raised.value, Taken)
