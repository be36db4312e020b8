"""Submitting a manifest: read strictly, what is wrong is shown next to the text, the text stays."""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from jobs.models import TrainJob
from jobs.spec.manifest import dump_manifest
from tests.unit.web_jobs.conftest import hidden, manifest, text

PATH = "/submit/manifest"


def send(client, source, **more):
    return client.post(PATH, {"text": source, "project": "", "key": "k" * 24, "step": "review", **more})


def kept(response) -> str:
    """The text in the form, as the browser shows it."""
    import html

    return html.unescape(re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", response.content.decode(), re.DOTALL)[1])


def troubles(response) -> list[str]:
    found = re.findall(r'<p class="trouble">(.*?)</p>', response.content.decode(), re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", one).split()) for one in found]


def test_it_begins_with_an_example_that_works(world, as_user):
    client = as_user("owner")
    page = client.get(f"{PATH}?project=team")
    assert "namespace: team" in kept(page)
    assert send(client, kept(page)).status_code == 200


@pytest.mark.parametrize("write", [dump_manifest, json.dumps])
def test_review_and_submit(world, as_user, write):
    client = as_user("owner")
    page = send(client, write(manifest("pasted")))
    assert page.status_code == 200
    assert "Review pasted" in text(page)
    assert "JobSet pasted" in text(page)
    assert not TrainJob.objects.exists()
    fields = hidden(page) | {"step": "create"}
    first = client.post(PATH, fields)
    assert client.post(PATH, fields).url == first.url == f"/jobs/{TrainJob.objects.get().pk}"


def test_back_to_the_form_keeps_the_text(world, as_user):
    client, source = as_user("owner"), dump_manifest(manifest()) + "# mine\n"
    page = client.post(PATH, hidden(send(client, source)) | {"step": "edit"})
    assert page.status_code == 200
    assert kept(page) == source


def test_an_uploaded_file_takes_the_place_of_the_text(world, as_user):
    client = as_user("owner")
    file = SimpleUploadedFile("job.yaml", dump_manifest(manifest("filed")).encode())
    page = send(client, "ignored: true", file=file)
    assert "Review filed" in text(page)
    file = SimpleUploadedFile("job.yaml", b"kind: [")
    page = send(client, "ignored: true", file=file)
    assert page.status_code == 422
    assert kept(page) == "kind: ["


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe\x00", "The file is not UTF-8 text (byte 1)."), (b"#" * 1_600_000, "larger than 1,572,864 bytes")],
)
def test_files_that_are_no_text_leave_the_text_alone(world, as_user, content, message):
    page = send(as_user("owner"), "mine: 1", file=SimpleUploadedFile("x", content))
    assert page.status_code == 422
    assert message in text(page)
    assert kept(page) == "mine: 1"


BROKEN = [
    ("kind: TrainJob\nspec: [1, 2\nmore: 3\n", "Line 3, column 5"),
    ("kind: TrainJob\nkind: TrainJob\n", "Line 2, column 1"),
    ("\tkind: x", "Line 1, column 1"),
    ("a: &x [1]\nb: *y\n", "Line 2, column 4"),
    ("kind: Pod\napiVersion: v1\n", "Line 1, column 1 kind It must be TrainJob"),
    ("- 1\n", "A manifest is a map of fields"),
    ("   \n", "It holds nothing."),
]


@pytest.mark.parametrize(("source", "said"), BROKEN)
def test_bad_yaml_says_where_and_keeps_the_text(world, as_user, source, said):
    page = send(as_user("owner"), source)
    assert page.status_code == 422
    assert troubles(page)[0].startswith(said)
    assert kept(page) == source
    assert not TrainJob.objects.exists()


def test_the_lines_around_it_are_shown(world, as_user):
    html = send(as_user("owner"), "kind: TrainJob\nspec: [1, 2\nmore: 3\n").content.decode()
    assert '<span class="excerpt-line wrong"><span class="excerpt-no">3</span>more: 3\n</span>' in html
    assert '<span class="excerpt-no"></span>    ^\n' in html


def test_a_line_of_a_megabyte_is_not_sent_back_twice(world, as_user):
    source = "kind: TrainJob\nspec: [" + "1, " * 200_000 + "\n"
    page = send(as_user("owner"), source)
    assert page.status_code == 422
    assert len(page.content) < 1.1 * len(source)


FIELDS = [
    (manifest("Bad_Name"), "Line 4, column 3 metadata.name"),
    (manifest(numProcPerNode="many"), "spec.trainer.numProcPerNode"),
    (manifest(env=[{"name": "A", "value": "1"}, {"name": "1A", "value": "2"}]), "spec.trainer.env[1].name"),
    (manifest(resourcesPerNode={"requests": {"cpu": 4}, "limits": {"cpu": 2}}), "spec.trainer.resourcesPerNode.requests.cpu"),
    (manifest() | {"spec": {"runtimeRef": {"name": "nothing"}}}, "spec.runtimeRef"),
    (manifest() | {"surprise": 1}, "surprise"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "said"), FIELDS)
def test_fields_that_are_not_acceptable_are_named_with_their_line(world, as_user, document, said):
    source = dump_manifest(document)
    page = send(as_user("owner"), source)
    assert page.status_code == 422
    assert any(said in one and re.match(r"Line \d+, column \d+ ", one) for one in troubles(page)), troubles(page)
    assert kept(page) == source


def test_the_number_of_findings_is_bounded(world, as_user):
    many = [{"name": f"{n}X", "value": ""} for n in range(30)]
    page = send(as_user("owner"), dump_manifest(manifest(env=many)))
    assert len(troubles(page)) == 20
    assert "10 more are not shown." in text(page)


def test_where_it_goes(world, as_user):
    client, document = as_user("owner"), manifest()
    del document["metadata"]["namespace"]
    page = send(client, dump_manifest(document))
    assert "names no namespace: choose the project" in text(page)
    assert "Project team" in text(send(client, dump_manifest(document), project="team"))
    document["metadata"]["namespace"] = "other"
    assert "where you may not submit" in text(send(client, dump_manifest(document)))
    assert "this submission goes to the project “team”" in text(send(client, dump_manifest(document), project="team"))
    assert "You may not submit in “other”." in text(send(client, dump_manifest(document), project="other"))


def test_a_name_that_was_taken_after_the_review(world, as_user):
    client = as_user("owner")
    fields = hidden(send(client, dump_manifest(manifest("pasted"))))
    world.job("pasted")
    page = client.post(PATH, fields | {"step": "create"})
    assert page.status_code == 422
    assert "is the name of another job" in text(page)
    assert "name: pasted" in kept(page)


def test_ten_megabytes_are_refused(world, as_user):
    page = send(as_user("owner"), "x" * 10_000_000)
    assert page.status_code == 413
