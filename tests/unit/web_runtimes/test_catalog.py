"""The pages of the catalog: who sees which runtime, what they say of it, and putting a drifted one back."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runtimes.models import Runtime
from trainui.accounts.models import Membership, Role
from trainui.audit.models import AuditEntry
from trainui.cluster.errors import Unavailable

HTMX = {"HX-Request": "true"}


def text(response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def test_blueprints_and_plain_runtimes(catalog, as_user):
    catalog.plain("stock", labels={"trainer.kubeflow.org/support": "deprecated"})
    catalog.plain("ours", "team")
    page = text(as_user("engineer").get("/runtimes"))
    plain = ("stock whole cluster plain deprecated", "ours project team plain in the cluster")
    for wanted in ("Digits on MPI (sample)", "runs on this machine", *plain):
        assert wanted in page


def test_runtimes_of_other_projects_are_not_there(catalog, as_user):
    catalog.plain("ours", "team")
    client = as_user("stranger")
    assert "ours" not in text(client.get("/runtimes")).split()
    assert client.get("/runtimes/team/ours").status_code == 404
    assert client.get("/runtimes/ours").status_code == 404
    assert client.get("/runtimes/sample-mnist").status_code == 200


@pytest.mark.parametrize("path", ["/runtimes/nothing", "/runtimes/%00", "/runtimes/team/sample-mnist"])
def test_what_is_not_there(catalog, as_user, path):
    assert as_user("engineer").get(path).status_code == 404


@pytest.mark.parametrize(
    ("query", "there", "away"),
    [
        ("q=NUMPY", "sample-mnist", "plain-command"),
        ("q=torchrun", "torch-distributed", "sample-mnist"),
        ("framework=torch", "torch-distributed", "mpi-distributed"),
        ("framework=mpi&q=sample", "sample-mnist", "mpi-distributed"),
    ],
)
def test_filters(catalog, as_user, query, there, away):
    page = text(as_user("stranger").get(f"/runtimes?{query}"))
    assert there in page
    assert away not in page


def test_empty_states(catalog, as_user):
    page = as_user("stranger").get("/runtimes?q=nothing")
    assert "No runtime matches" in text(page)
    assert 'href="/runtimes"' in page.content.decode()
    Runtime.objects.all().delete()
    assert "The catalog is empty" in text(as_user("stranger").get("/runtimes"))


def test_problems_show_on_the_card_and_the_page(catalog, as_user):
    Runtime.objects.filter(name="sample-mnist").update(apply_error="The webhook refused it.")
    Runtime.objects.filter(name="plain-command").update(observed=None, uid="")
    client = as_user("curator")
    page = text(client.get("/runtimes"))
    assert "cannot be applied" in page
    assert "not in the cluster yet" in page
    assert "1 blueprint needs a look" in page
    assert "The webhook refused it." in text(client.get("/runtimes/sample-mnist"))
    assert "a look" not in text(as_user("engineer").get("/runtimes"))


def test_the_catalog_reads_no_documents_and_asks_no_more_for_more(catalog, as_user):
    client = as_user("engineer")
    client.get("/runtimes")

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/runtimes").status_code == 200
        return [query["sql"] for query in captured]

    few = queries()
    for number in range(20):
        catalog.plain(f"stock-{number}")
    many = queries()
    assert len(many) == len(few)
    selected = next(sql for sql in many if 'FROM "runtimes_runtime"' in sql).split(" CASE ")[0]
    assert '"runtimes_runtime"."name"' in selected
    for heavy in ("source", "observed", "manifest", "parameters"):
        assert f'"runtimes_runtime"."{heavy}"' not in selected


def test_the_page_of_a_blueprint(catalog, as_user):
    page = as_user("stranger").get("/runtimes/sample-mnist")
    for wanted in (
        "A multilayer perceptron in numpy",
        "launcher Launcher, trains too 1 pod",
        "node Training nodes 1 pod",
        "Epochs epochs",
        "1 to 20000",
        "mpirun python -m trainui_trainer.mnist_mpi",
        "kind: ClusterTrainingRuntime",
        "Processes per node 1",
        "Done when launcher completes",
    ):
        assert wanted in text(page)
    html = page.content.decode()
    assert 'href="/submit/with/sample-mnist"' in html
    assert 'hx-get="/jobs/recent?runtime=sample-mnist"' in html
    assert 'href="/jobs?runtime=sample-mnist"' in html


@pytest.mark.parametrize("address", ["/runtimes/torchtune-llama3.2-1b", "/submit/with/torchtune-llama3.2-1b"])
def test_what_cannot_run_on_this_machine_says_why(catalog, as_user, settings, address):
    wanted = "It needs 1 GPU per node, and programs that come in a container image."
    assert wanted in text(as_user("engineer").get(address))
    assert "cannot run here" not in text(
        as_user("engineer").get(address.replace("torchtune-llama3.2-1b", "jax-distributed"))
    )
    settings.POD_DNS = True  # a cluster where pods run in images
    assert "cannot run here" not in text(as_user("engineer").get(address))


def test_the_page_of_a_runtime_of_a_project(catalog, as_user):
    catalog.plain("ours", "team")
    page = as_user("engineer").get("/runtimes/team/ours")
    assert "Project team" in text(page)
    assert "Parameters" not in text(page)
    assert 'href="/submit/with/team/ours"' in page.content.decode()
    assert "resourceVersion" not in text(page)


def nodes_to_six(spec) -> None:
    spec["mlPolicy"]["numNodes"] = 6


def test_drift_is_shown_field_by_field(catalog, as_user):
    catalog.edit("sample-mnist", nodes_to_six)
    page = text(as_user("engineer").get("/runtimes/sample-mnist"))
    assert "spec.mlPolicy.numNodes Blueprint 2 Cluster 6" in page
    assert "Put back" not in page
    assert "runtime’s: 6" in page, "the form offers what jobs get"
    assert "Put it back to the blueprint?" in text(as_user("curator").get("/runtimes/sample-mnist"))


def test_the_state_refreshes_alone(catalog, as_user):
    client = as_user("engineer")
    assert "Drifted from" not in text(client.get("/runtimes/sample-mnist", headers=HTMX))
    catalog.edit("sample-mnist", nodes_to_six)
    part = client.get("/runtimes/sample-mnist", headers=HTMX)
    assert "Drifted from its blueprint" in text(part)
    assert "<html" not in part.content.decode()


class Cluster:
    """Takes what is applied, as the API server would; or answers as it does when it is down."""

    def __init__(self, error: Exception | None = None) -> None:
        self.applied: list[dict] = []
        self.error = error

    def apply(self, obj: dict, force: bool = False) -> dict:
        if self.error:
            raise self.error
        self.applied.append(obj)
        return obj


@pytest.fixture
def cluster(monkeypatch) -> Cluster:
    answering = Cluster()
    monkeypatch.setattr("runtimes.sync.connect", lambda kubeconfig: answering)
    return answering


@pytest.mark.parametrize("persona", ["curator", "admin"])
def test_catalog_admins_put_it_back(catalog, as_user, cluster, persona):
    catalog.edit("sample-mnist", nodes_to_six)
    client = as_user(persona)
    answer = client.post("/runtimes/sample-mnist/-/restore")
    assert answer.url == "/runtimes/sample-mnist"
    assert [obj["spec"]["mlPolicy"]["numNodes"] for obj in cluster.applied] == [2]
    assert not Runtime.objects.get(name="sample-mnist").drifted
    assert "is as its blueprint says again" in text(client.get("/runtimes/sample-mnist"))
    assert AuditEntry.objects.filter(verb="runtime.restore", actor__username=persona).count() == 1


@pytest.mark.parametrize("persona", ["engineer", "stranger"])
def test_nobody_else_does(catalog, as_user, cluster, persona):
    catalog.edit("sample-mnist", nodes_to_six)
    Membership.objects.filter(user=catalog.users["engineer"]).update(role=Role.ADMIN)
    assert as_user(persona).post("/runtimes/sample-mnist/-/restore").status_code == 403
    assert cluster.applied == []
    assert Runtime.objects.get(name="sample-mnist").drifted


def test_a_cluster_that_does_not_answer_is_said(catalog, as_user, cluster):
    catalog.edit("sample-mnist", nodes_to_six)
    cluster.error = Unavailable("No answer.")
    client = as_user("curator")
    client.post("/runtimes/sample-mnist/-/restore")
    page = text(client.get("/runtimes/sample-mnist"))
    assert "sample-mnist could not be put back" in page
    assert "No answer." in page


def test_plain_runtimes_cannot_be_put_back(catalog, as_user, cluster):
    catalog.plain("stock")
    assert as_user("curator").post("/runtimes/stock/-/restore").status_code == 404
    assert as_user("curator").get("/runtimes/sample-mnist/-/restore").status_code == 405


def test_an_icon_that_there_is_not_becomes_another(catalog, as_user):
    Runtime.objects.filter(name="sample-mnist").update(card={"icon": "no-such-icon"})
    assert as_user("engineer").get("/runtimes").status_code == 200
