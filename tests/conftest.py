"""Fixtures of all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import Stack, running


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole of trainui, one per test process: two machines of four CPUs."""
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    with running(data, machines="local-0:cpu=4,memory=8Gi;local-1:cpu=4,memory=8Gi") as started:
        yield started
