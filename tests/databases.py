"""Tests that touch the database run on each of them: `test_x[sqlite]` and `test_x[postgres]`, in one run and one process.

The fixture `database` makes `default` the one that a test names, for all threads. A database is made when the first test wants it.
Tests of the whole path with the mark `each_database` run on an instance with each; with TRAINUI_LONG=1 all of them do. Those with the mark
`each_cluster` run on a real Kubernetes too (tests/rig).
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests import postgres
from trainui import database as product

LONG = os.environ.get("TRAINUI_LONG") == "1"
KINDS = ("sqlite", "postgres")
FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
# Pages in a browser wait for pages, not for queries, and who may see an address is decided before any: unit tests ask the same queries on both.
ONE_IS_ENOUGH = ("tests.browser.", "tests.test_strangers")
# The parameter of `stack`; with a group of its own, so that it may run beside the instance on SQLite. Every test that has it is to be in the
# group "postgres_stack" (pytest-xdist joins the names), or two test processes start an instance each.
ON_POSTGRES = pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))
ON_KUBERNETES = pytest.param("kubernetes", marks=pytest.mark.xdist_group("rig"))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    for mark in (
        "each_database: run this test of the whole path on SQLite and on PostgreSQL",
        "each_cluster(group): run it on the local cluster, in this group of pytest-xdist, and on a real Kubernetes",
        "only_local(why): not on a real Kubernetes, although the module's other tests are",
        "only_kubernetes: run this test of the whole path on a real Kubernetes alone",
    ):
        config.addinivalue_line("markers", mark)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have tests that touch the database run on each."""
    test = metafunc.definition
    named = {mark.args[0] for mark in test.iter_markers("parametrize")}
    instances = _instances(test)
    if "stack" in metafunc.fixturenames and "stack" not in named and instances:
        metafunc.parametrize("stack", instances, indirect=True, scope="session")
    touches = test.get_closest_marker("django_db") or FIXTURES & set(metafunc.fixturenames)
    if touches and "database" not in named and not metafunc.module.__name__.startswith(ONE_IS_ENOUGH):
        if "database" not in metafunc.fixturenames:
            metafunc.fixturenames.insert(0, "database")
        metafunc.parametrize("database", KINDS, indirect=True, scope="session")


def _instances(test: pytest.Item) -> list[Any]:
    """Return the instances on which a test of the whole path runs; none for one that says nothing about it."""
    if test.get_closest_marker("only_kubernetes"):
        return [ON_KUBERNETES]
    clusters = test.get_closest_marker("each_cluster")
    here = pytest.param("sqlite", marks=pytest.mark.xdist_group(*clusters.args)) if clusters else "sqlite"
    others = [_grouped(ON_POSTGRES, clusters)] if LONG or test.get_closest_marker("each_database") else []
    others += [ON_KUBERNETES] if clusters and not test.get_closest_marker("only_local") else []
    return [here, *others] if clusters or others else []


def _grouped(instance: Any, clusters: pytest.Mark | None) -> Any:
    marks = [*instance.marks, pytest.mark.xdist_group(*clusters.args)] if clusters else instance.marks
    return pytest.param(*instance.values, marks=marks)


class Databases:
    """The test databases of this process."""

    def __init__(self) -> None:
        self.now = "sqlite"
        self.configurations: dict[str, dict[str, Any]] = {"sqlite": connections.settings["default"]}
        self.made: dict[str, str] = {}  # kind -> the name that its configuration had before

    def use(self, kind: str) -> None:
        """Make `default` a database of this kind. Raises postgres.Missing."""
        if kind not in self.configurations:
            url = postgres.shared().url(f"trainui_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}")
            complete = connections.configure_settings({"default": product.configuration(url)})
            self.configurations[kind] = complete["default"]
        if kind != self.now:
            connections["default"].close()
            del connections["default"]
            connections.settings["default"] = self.configurations[kind]
            self.now = kind
        if kind not in self.made:
            self.made[kind] = str(connections["default"].settings_dict["NAME"])
            connections["default"].creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)

    def remove(self) -> None:
        """Remove those that were made."""
        for kind, name in self.made.items():
            self.use(kind)
            connections["default"].close()
            if hasattr(connections["default"], "close_pool"):
                connections["default"].close_pool()
            connections["default"].creation.destroy_test_db(name, verbosity=0)


@pytest.fixture(scope="session")
def postgres_server() -> postgres.Server:
    """The PostgreSQL server of this run."""
    try:
        return postgres.shared()
    except postgres.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def _databases(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker, django_db_modify_db_settings: None
) -> Iterator[Databases]:
    databases = Databases()
    yield databases
    with django_db_blocker.unblock():
        databases.remove()


@pytest.fixture(scope="session")
def database(request: pytest.FixtureRequest, _databases: Databases, django_db_blocker: DjangoDbBlocker) -> str:
    """The kind of database that `default` is."""
    kind: str = getattr(request, "param", "sqlite")
    try:
        with django_db_blocker.unblock():
            _databases.use(kind)
    except postgres.Missing as missing:
        pytest.skip(str(missing))
    return kind


@pytest.fixture(scope="session")
def django_db_setup(database: str) -> None:
    """pytest-django's name for what prepares its tests' database."""
