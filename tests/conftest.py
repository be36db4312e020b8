"""Fixtures of all tests; with TRAINUI_STRICT=1 a skip is a failure."""

import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests.jobs.job_env import make_job_env
from tests.postgres import Server
from tests.rig.fixtures import own_rig, pytest_sessionfinish, rig, rig_namespace
from tests.rig.instance import USER, instance_on
from tests.rig.rig import Rig
from tests.stack import Stack, running

__all__ = ["own_rig", "pytest_sessionfinish", "rig", "rig_namespace"]
pytest_plugins = ["tests.databases"]
STRICT = os.environ.get("TRAINUI_STRICT") == "1"


def pytest_configure() -> None:
    """End as at Ctrl-C when somebody ends the run, so that instances and clusters end too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where everything has to be there."""
    return _strictly((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself."""
    return _strictly((yield))


def _strictly(report: Any) -> Any:
    if STRICT and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome, report.longrepr = "failed", f"TRAINUI_STRICT=1: {said}"
    return report


MACHINES = "local-0:cpu=4,memory=8Gi;local-1:cpu=4,memory=8Gi"


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> Stack:
    """The whole of trainui, one per test process and database: two machines of four CPUs."""
    started: Stack = request.getfixturevalue(f"_stack_on_{getattr(request, 'param', 'sqlite')}")
    return started


@pytest.fixture(scope="session")
def _stack_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stack")
    with running(folder / "data", make_job_env(folder / "jobs"), machines=MACHINES) as started:
        yield started


@pytest.fixture(scope="session")
def _stack_on_kubernetes(tmp_path_factory: pytest.TempPathFactory, rig: Rig) -> Iterator[Stack]:
    with instance_on(rig, tmp_path_factory.mktemp("stack-on-kubernetes") / "data") as started:
        yield started
    assert not (refused := rig.refusals(USER)), f"refused to trainui: {'; '.join(refused)}"


@pytest.fixture(scope="session")
def _stack_on_postgres(tmp_path_factory: pytest.TempPathFactory, postgres_server: Server) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stack-on-postgres")
    url = postgres_server.create(f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-{folder.name}")
    with running(folder / "data", make_job_env(folder / "jobs"), machines=MACHINES, DATABASE_URL=url) as started:
        yield started
