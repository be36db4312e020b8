import pytest

from trainui.audit.models import AuditEntry
from trainui.audit.services import record, without_secrets


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"role": "viewer", "n": 3}, {"role": "viewer", "n": 3}),
        (
            {"password": "x", "API_KEY": "y", "apiKey": "z"},
            dict.fromkeys(("password", "API_KEY", "apiKey"), "(not recorded)"),
        ),
        ({"env": [{"HF_TOKEN": "hf_x"}, {"LR": "1e-3"}]}, {"env": [{"HF_TOKEN": "(not recorded)"}, {"LR": "1e-3"}]}),
        ({"deep": {"deeper": {"clientSecret": [1, 2]}}}, {"deep": {"deeper": {"clientSecret": "(not recorded)"}}}),
        ((1, "a"), [1, "a"]),
    ],
)
def test_secrets_are_left_out(given, kept):
    assert without_secrets(given) == kept


def test_an_entry_outlives_what_it_tells_about(world):
    viewer = world.user("viewer")
    entry = record(viewer, "job.cancel", world.project, detail={"reason": "too slow"})
    viewer.delete()
    world.project.delete()
    entry.refresh_from_db()
    assert (entry.actor, entry.project) == (None, None)
    assert (entry.actor_name, entry.project_name, entry.object_kind) == ("viewer", "team-nlp", "Project")
    assert entry.deed == "cancelled"


def test_anonymous_actors_have_no_name(db):
    from django.contrib.auth.models import AnonymousUser

    assert record(AnonymousUser(), "sign-in.failure").actor_name == ""


def test_the_page_filters_and_pages(world, as_user, monkeypatch):
    monkeypatch.setattr("trainui.accounts.web.audit.PAGE", 2)
    for i in range(5):
        record(world.user("owner"), f"job.deed{i}", project=world.project)
    record(world.user("admin"), "user.create", world.user("viewer"))
    client = as_user("admin")
    seen, query = [], "verb=job&project=team-nlp"
    while query:
        context = client.get(f"/audit?{query}").context
        seen += [entry.verb for entry in context["entries"]]
        query = context["older"]
    assert seen == [f"job.deed{i}" for i in (4, 3, 2, 1, 0)]
    assert [e.verb for e in client.get("/audit?actor=admin").context["entries"]] == ["user.create"]
    assert client.get("/audit?before=x").status_code == 200
    assert "No entry matches" in client.get("/audit?actor=ghost").content.decode()


def test_names_are_cut_to_the_column(db):
    class Odd:
        name = "x" * 1000
        pk = "y" * 100
        project = None

    entry = record(None, "odd.deed", Odd())  # type: ignore[arg-type]
    assert (len(entry.object_name), len(entry.object_id)) == (260, 64)
    assert AuditEntry.objects.count() == 1
