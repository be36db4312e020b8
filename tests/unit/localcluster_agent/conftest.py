"""Local clusters for the tests of this folder."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .cluster import Cluster

JOB_ENV = Path(sys.prefix)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster that the tests of a module share."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), JOB_ENV)
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def new_cluster(tmp_path: Path) -> Iterator[Callable[[], Cluster]]:
    """Makes clusters that a test may break."""
    made: list[Cluster] = []

    def make() -> Cluster:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Cluster(folder, JOB_ENV))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.close()
