"""Every recorded life of a TrainJob through all of trainui: API server, watch, reconcile, JobSet and Job controllers, scheduler.

The cases run beside each other, each in a project of its own on one instance, whose only machine leaves its pods alone: their status is
written by hand, as it was when the corpus was recorded.
"""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.corpus import Case, cases, evaluator
from tests.conformance.lifecycle.api import Api, Json
from tests.conformance.lifecycle.play import Names, Player
from tests.conformance.lifecycle.quiet import Calm
from tests.stack import Stack, running
from trainui.cluster.client import Cluster

pytestmark = pytest.mark.xdist_group("lifecycle")
MUST = evaluator()
CASES = cases("lifecycle.json", "conformance/lifecycle.json")
BACK_OFF = "1"  # a failed pod was replaced within the step that it failed in
MACHINE = "sim-0:cpu=1000,memory=4000Gi,pods=10000,kind=status"
AT_ONCE = 12
PROJECTS = """
import json
from trainui.accounts.models import Project
for name in json.loads({names!r}):
    Project.objects.get_or_create(name=name)
"""
Results = dict[str, Future[Json]]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    data: Path = tmp_path_factory.mktemp("lifecycle") / "data"
    with running(data, machines=MACHINE, TRAINUI_JOB_BACKOFF_SECONDS=BACK_OFF) as started:
        yield started


@pytest.fixture(scope="module")
def results(instance: Stack, request: pytest.FixtureRequest) -> Iterator[Results]:
    """All chosen cases, begun beside each other; each test waits for its own."""
    chosen = [item.callspec.params["case"] for item in request.session.items if item.originalname == "test_lifecycle"]
    chosen.sort(key=_counts_seconds)  # when fewer cases run, a busy machine disturbs these less
    places = {case["id"]: f"case-{number}" for number, case in enumerate(chosen)}
    instance.shell(PROJECTS.format(names=json.dumps(list(places.values()))))
    kubeconfig = instance.data / "cluster" / "kubeconfig"
    cluster, api = Cluster.from_kubeconfig(str(kubeconfig)), Api(kubeconfig)
    calm, names = Calm(cluster, instance.data / "trainui.sqlite3"), Names()
    for name in places.values():
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        players = {case["id"]: Player(api, calm, places[case["id"]], case) for case in chosen}
        yield {id: pool.submit(player.play, names) for id, player in players.items()}
        pool.shutdown(cancel_futures=True)
    calm.stop()
    api.close()


def _counts_seconds(case: Case) -> bool:
    text = json.dumps([case["runtime"], case["trainJob"]])
    return "eadlineSeconds" in text or "ttlSecondsAfterFinished" in text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_lifecycle(case: Case, results: Results) -> None:
    if differences := MUST.check(case, results[case["id"]].result()):
        pytest.fail("\n".join(differences), pytrace=False)
