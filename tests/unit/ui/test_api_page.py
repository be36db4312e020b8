"""The page of the REST API's document, under the Content-Security-Policy that every page has."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from trainui.accounts.models import User


@pytest.fixture
def client() -> Client:
    """Somebody who is signed in and in no project."""
    made = Client()
    made.force_login(User.objects.create_user("reader"))
    return made


@pytest.mark.django_db
def test_nothing_stands_in_the_page_that_its_policy_refuses(client: Client, settings) -> None:  # type: ignore[no-untyped-def]
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
    answer = client.get(reverse("api-docs"))
    page = answer.content.decode()
    assert answer["Content-Security-Policy"].count("unsafe") == 0
    assert "<style" not in page
    assert " style=" not in page
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 3
    assert all("src=" in attributes and not body.strip() for attributes, body in scripts)


@pytest.mark.django_db
def test_its_script_has_an_address_and_names_the_document(client: Client) -> None:
    page = client.get(reverse("api-docs")).content.decode()
    address = re.findall(r'<script src="([^"]*)"', page)[-1].replace("&amp;", "&")
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/javascript")
    assert reverse("api-schema") in answer.content.decode()


@pytest.mark.django_db
def test_nobody_reads_it_without_a_login() -> None:
    assert [Client().get(reverse(name)).status_code for name in ("api-docs", "api-schema")] == [401, 401]
