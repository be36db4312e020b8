"""What the cluster has and lacks: each fact judged, each lack with what mends it; the survey against a real API server."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import ClusterSurvey, WatchState
from jobs.queries.cluster import Served
from jobs.queries.cluster_checks import ABSENT, LACKS, OK, UNKNOWN, WARNS, Check, judge
from jobs.reconcile import survey as surveys
from jobs.reconcile.survey import note_claim, survey
from tests.unit.life.conftest import World
from tests.unit.localcluster_api.rig import RunningServer
from trainui.cluster import kinds

As = Callable[[str], Client]
GROUPS = [
    "jobset.x-k8s.io/v1alpha2",
    "kueue.x-k8s.io/v1beta2",
    "scheduling.k8s.io/v1beta1",
    "trainer.kubeflow.org/v1alpha1",
]
GOOD: dict[str, Any] = {
    "version": "v1.37.2", "groups": GROUPS, "skew_seconds": 0, "denied": [], "upstream": [], "holder": "me_1", "installation": "me_1",
    "schedulers": [{"name": "default-scheduler", "pods": 3, "placed": 2}],
}  # fmt: skip

DENIED = [{"verb": "get", "resource": "pods/log", "purpose": "capture logs"}]


def checks(served: list[Served] | None = None, **changed: Any) -> dict[str, Check]:
    return {check.key: check for check in judge(GOOD | changed, served or [])}


def without(*groups: str) -> list[str]:
    return [group for group in GROUPS if not group.startswith(groups)]


def test_a_cluster_that_has_everything() -> None:
    found = checks()
    assert {check.state for check in found.values()} == {OK}
    assert not [check for check in found.values() if check.remedy]
    assert "2 of 3 pods" in found["schedulers"].text


@pytest.mark.parametrize(
    ("changed", "key", "state", "said", "remedy"),
    [
        ({"groups": without("jobset")}, "jobset", LACKS, "does not serve JobSet", "jobset/releases/download/v"),
        ({"groups": without("trainer")}, "trainer", LACKS, "TrainJob (trainer", "trainer.kubeflow.org_trainjobs.yaml"),
        ({"groups": without("scheduling")}, "gangs", WARNS, "placed one by one", "helm install scheduler-plugins"),
        ({"groups": without("kueue")}, "kueue", ABSENT, "Not installed", "kueue/releases/download/v"),
        ({"version": "v1.29.4"}, "version", WARNS, "v1.29.4 is older", "Upgrade"),
        ({"version": ""}, "version", UNKNOWN, "unknown", ""),
        ({"skew_seconds": 90}, "clock", WARNS, "90 s ahead of", "timedatectl"),
        ({"skew_seconds": -7}, "clock", WARNS, "7 s behind", "timedatectl"),
        ({"upstream": ["kubeflow-system"]}, "reconciler", LACKS, "runs in kubeflow-system", "-n kubeflow-system scale deployment"),
        ({"holder": "you_2"}, "reconciler", LACKS, "you_2", "Stop that installation"),
        ({"holder": ""}, "reconciler", UNKNOWN, "Nobody holds", ""),
        ({"denied": None}, "permissions", UNKNOWN, "does not tell", ""),
        ({"denied": DENIED}, "permissions", LACKS, "may not get pods/log (capture logs)", "kubectl apply -f deploy/rbac.yaml"),
        ({"schedulers": [{"name": "volcano", "pods": 2, "placed": 0}]}, "schedulers", WARNS, "the scheduler volcano", "kubectl get pods"),
    ],
)  # fmt: skip
def test_each_lack_says_what_mends_it(changed: dict[str, Any], key: str, state: str, said: str, remedy: str) -> None:
    found = checks(**changed)
    assert found[key].state == state
    assert said in found[key].text
    assert remedy in found[key].remedy
    assert bool(found[key].remedy) is bool(remedy)
    assert {check.state for other, check in found.items() if other != key} == {OK}


def test_what_is_wrong_comes_first() -> None:
    order = [
        c.state for c in judge(GOOD | {"groups": without("kueue", "jobset"), "skew_seconds": 9, "denied": None}, [])
    ]
    assert order == sorted(order, key=[LACKS, WARNS, UNKNOWN, OK, ABSENT].index)


def test_one_kind_of_a_group_may_be_missing() -> None:
    gone = Served(kinds.TRAIN_JOB, "", True, False, "the cluster has no trainjobs (not found)", None)
    found = checks([gone])["trainer"]
    assert (found.state, "TrainJob" in found.text, "ClusterTrainingRuntime" in found.text) == (LACKS, True, False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("data"))
    yield running
    running.stop()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    told: list[Any] = []
    monkeypatch.setattr(surveys, "publish", lambda *changes: told.extend(changes))
    return told


def test_a_survey_is_kept_and_told_once(
    world: World, server: RunningServer, settings: Any, published: list[Any]
) -> None:
    settings.KUBECONFIG = str(server.folder.kubeconfig)
    survey()
    row = ClusterSurvey.objects.get()
    assert row.problem == ""
    assert row.facts["version"].startswith("v1.")
    assert {"trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"} <= set(row.facts["groups"])
    assert row.facts["skew_seconds"] == 0
    assert [change.name for change in published] == ["cluster-changed"]
    survey()
    assert len(published) == 1
    assert ClusterSurvey.objects.get().at > row.at


def test_facts_stay_when_the_cluster_is_away(world: World, server: RunningServer, settings: Any, tmp_path: Any, published: list[Any]) -> None:  # fmt: skip
    settings.KUBECONFIG = str(server.folder.kubeconfig)
    survey()
    before = ClusterSurvey.objects.get()
    settings.KUBECONFIG = str(tmp_path / "none")
    survey()
    after = ClusterSurvey.objects.get()
    assert (after.facts, after.at) == (before.facts, before.at)
    assert str(tmp_path / "none") in after.problem


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_page_shows_checks_and_their_age(world: World, as_user: As, settings: Any) -> None:
    settings.POD_DNS = True
    assert "The cluster has not been looked at yet." in words(as_user("viewer").get("/cluster").content.decode())
    at = timezone.now() - timedelta(minutes=10)
    ClusterSurvey.objects.create(facts=GOOD | {"skew_seconds": 30}, at=at, problem="read version: no answer")
    text = words(as_user("viewer").get("/cluster").content.decode())
    assert "Clocks warning The API server’s clock is 30 s ahead" in text
    assert "Not looked at. read version: no answer" in text
    assert "updated 10 min ago" in text
    body = as_user("viewer").get("/api/v1/cluster").json()
    assert body["surveyed"]["problem"] == "read version: no answer"
    assert next(c for c in body["checks"] if c["key"] == "clock")["state"] == "warns"


def test_the_local_cluster_tells_its_differences_instead(world: World, as_user: As, settings: Any) -> None:
    settings.POD_DNS = False
    ClusterSurvey.objects.create(facts=GOOD, at=timezone.now())
    text = words(as_user("viewer").get("/cluster").content.decode())
    assert "What the cluster has and lacks" not in text
    assert "How the local cluster differs" in text


def test_every_page_says_who_else_has_the_cluster(world: World, as_user: As) -> None:
    WatchState.objects.create(kind=kinds.POD.key, alive_at=timezone.now(), listed_at=timezone.now())
    note_claim("Kubeflow's Trainer controller runs in this cluster.")
    assert "Kubeflow&#x27;s Trainer controller runs" in as_user("viewer").get("/cluster").content.decode()
    note_claim("")
    assert "Trainer controller runs" not in as_user("viewer").get("/cluster").content.decode()
