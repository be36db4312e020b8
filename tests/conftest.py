"""Fixtures of all tests; with TRAINUI_STRICT=1 a skip is a failure."""

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests.jobs.job_env import make_job_env
from tests.rig.fixtures import pytest_sessionfinish, rig, rig_namespace
from tests.stack import Stack, running

__all__ = ["pytest_sessionfinish", "rig", "rig_namespace"]
STRICT = os.environ.get("TRAINUI_STRICT") == "1"


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


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole of trainui, one per test process: two machines of four CPUs."""
    folder = tmp_path_factory.mktemp("stack")
    job_env = make_job_env(folder / "jobs")
    with running(folder / "data", job_env, machines="local-0:cpu=4,memory=8Gi;local-1:cpu=4,memory=8Gi") as started:
        yield started
