"""A server for the tests of a module, a namespace for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.localcluster_api.rig import Client, Kubectl, RunningServer

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("data"))
    yield running
    running.stop()


@pytest.fixture
def client(server: RunningServer) -> Client:
    return server.client


@pytest.fixture
def namespace(client: Client) -> str:
    name = f"test-{next(_numbers)}"
    client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture
def kubectl(server: RunningServer, namespace: str, tmp_path: Path) -> Kubectl:
    return Kubectl(server.folder.kubeconfig, tmp_path, namespace)
