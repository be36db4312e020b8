"""Bringing blueprints into a cluster that may have runtimes of the same names already: against a real API of the local cluster."""

import copy

import pytest

from runtimes.mirror import save_runtime
from runtimes.models import Runtime
from runtimes.sync import sync_runtimes
from tests.unit.localcluster_api.rig import TRAINER, RunningServer

NAME = "torch-distributed"
ADDRESS = f"{TRAINER}/clustertrainingruntimes"


@pytest.fixture
def api(settings, tmp_path):
    server = RunningServer(tmp_path)
    settings.KUBECONFIG, settings.OWN_CLUSTER = str(server.folder.kubeconfig), True
    yield server.client
    server.stop()


@pytest.fixture
def rows(catalog):
    """Blueprints that watch has not seen in the cluster yet."""
    Runtime.objects.update(observed=None, uid="", applied_at=None)


def stock() -> dict:
    """A runtime of the same name that somebody else brought."""
    manifest = copy.deepcopy(Runtime.objects.get(name=NAME).manifest)
    manifest["metadata"] = {"name": NAME, "labels": {"trainer.kubeflow.org/framework": "torch"}}
    manifest["spec"]["mlPolicy"]["numNodes"] = 3
    return manifest


def nodes(api) -> int:
    return api.ok("GET", f"{ADDRESS}/{NAME}")["spec"]["mlPolicy"]["numNodes"]


def test_blueprints_are_brought_once(rows, api):
    sync_runtimes()
    assert {item["metadata"]["name"] for item in api.ok("GET", ADDRESS)["items"]} == set(
        Runtime.objects.values_list("name", flat=True)
    )
    assert not Runtime.objects.exclude(apply_error="").exists()
    before = api.ok("GET", f"{ADDRESS}/{NAME}")["metadata"]["resourceVersion"]
    sync_runtimes()
    assert api.ok("GET", f"{ADDRESS}/{NAME}")["metadata"]["resourceVersion"] == before


def test_a_stock_runtime_of_that_name_is_left_as_it_is(rows, api):
    api.ok("POST", ADDRESS, stock())
    sync_runtimes()  # watch has not seen it: it seems to be missing
    assert nodes(api) == 3
    save_runtime("ClusterTrainingRuntime", api.ok("GET", f"{ADDRESS}/{NAME}"))
    sync_runtimes()
    assert nodes(api) == 3
    row = Runtime.objects.get(name=NAME)
    assert row.drifted, "it is shown that the blueprint says something else"
    assert row.applied_at is None


def test_an_earlier_version_of_ours_is_renewed(rows, api):
    sync_runtimes()
    row = Runtime.objects.get(name=NAME)
    row.manifest["spec"]["mlPolicy"]["numNodes"] = 2
    row.save()
    save_runtime("ClusterTrainingRuntime", api.ok("GET", f"{ADDRESS}/{NAME}"))
    sync_runtimes()
    assert nodes(api) == 2
