"""Fixtures of tests on a real Kubernetes: one cluster for the whole session, shared by all test processes, and a namespace per test."""

import os
import re
from collections.abc import Iterator

import pytest

from tests.rig.network import holders
from tests.rig.rig import Rig, end_keeper, obstacle


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """The session's cluster, started by the first test process that asks; it ends with the session."""
    if why := obstacle():
        pytest.skip(why)
    shared = tmp_path_factory.getbasetemp()
    owner = os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared, owner = shared.parent, os.getppid()
    return Rig.start(shared / "rig", owner)


@pytest.fixture(scope="module")
def own_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A cluster of the module's own, without the real machine, whose programs its tests may stop."""
    if why := obstacle():
        pytest.skip(why)
    started = Rig.start(tmp_path_factory.mktemp("own"), with_machine=False)
    yield started
    started.stop()


@pytest.fixture
def rig_namespace(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, deleted with all that is in it when the test is over."""
    rig.check()
    plain = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:24].strip("-")
    with rig.namespace(f"{plain}-{os.urandom(3).hex()}") as name:
        yield name
    rig.check()


def pytest_sessionfinish() -> None:
    """End the session's cluster and wait for it; should this process be killed, the cluster's keeper sees that."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for holder in holders():
            if holder.get("owner") == os.getpid():
                end_keeper(holder["keeper"])
