"""Failures that are nobody's mistake: a database that cannot be used now is told as such, not as a fault of trainui."""

import json

import pytest
from django.db import InterfaceError, OperationalError
from django.test import RequestFactory

from trainui import problems


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperationalError("database or disk is full"), "disk"),
        (OperationalError("database is locked"), "busy"),
        (OperationalError('connection to server at "db.example" failed'), "does not answer"),
        (InterfaceError("connection already closed"), "does not answer"),
    ],
)
def test_a_database_that_cannot_be_used(error: Exception, words: str) -> None:
    request = RequestFactory().post("/api/v1/trainjobs")
    answer = problems.exception_handler(error, {"request": request})
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"], answer.data["code"]) == (503, "5", "database_unavailable")
    assert words in answer.data["detail"]
    assert "db.example" not in answer.data["detail"]


def test_other_errors_are_faults() -> None:
    request = RequestFactory().post("/api/v1/trainjobs")
    assert problems.exception_handler(ValueError("wrong"), {"request": request}) is None


@pytest.mark.parametrize(
    ("error", "status"), [(OperationalError("database is locked"), 503), (ValueError("wrong"), 500)]
)
def test_outside_of_views_too(error: Exception, status: int) -> None:
    try:
        raise error
    except type(error):
        answer = problems.server_error(RequestFactory().get("/api/v1/trainjobs"))
    assert answer.status_code == status
    assert json.loads(answer.content)["status"] == status
