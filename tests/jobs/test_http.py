"""What only a real server shows: bodies in pieces, bodies that are too large, files that are sent as they are read."""

import hashlib
import json
from collections.abc import Iterator

import httpx
import pytest

from tests.jobs.tools import rows
from tests.stack import Stack

pytestmark = pytest.mark.each_cluster("stack2")
WEB = "web alone answers: no cluster is asked"

MEGABYTE = 1 << 20


def pieces(data: bytes, size: int = 7) -> Iterator[bytes]:
    """A body without a Content-Length."""
    for at in range(0, len(data), size):
        yield data[at : at + size]


@pytest.mark.only_local(WEB)
def test_a_body_in_pieces(stack: Stack) -> None:
    body = {
        "project": stack.project,
        "blueprint": "plain-command",
        "name": "in-pieces",
        "parameters": {"script": "true"},
    }
    with stack.client() as client:
        answer = client.post(
            "/api/v1/trainjobs", content=pieces(json.dumps(body).encode()), headers={"Content-Type": "application/json"}
        )
    assert answer.status_code == 201, answer.text
    assert stack.wait(answer.json()["id"])["phase"] == "Succeeded"


@pytest.mark.only_local(WEB)
@pytest.mark.parametrize("length", [True, False])
def test_ten_megabytes_are_too_much(stack: Stack, length: bool) -> None:
    before, body = len(rows(stack)), b"x" * (10 * MEGABYTE)
    with stack.client() as client:
        content = body if length else pieces(body, MEGABYTE)
        answer = client.post("/api/v1/trainjobs", content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (413, "application/problem+json")
    assert answer.json()["code"] == "too_large"
    assert len(rows(stack)) == before


def test_a_large_file_goes_in_and_out(stack: Stack) -> None:
    script = """
python3 - <<'PROGRAM'
import hashlib, trainui_report
content = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(400_000))
open("large.bin", "wb").write(content)
assert trainui_report.save_artifact("large.bin", "out/large.bin")
print("digest", hashlib.sha256(content).hexdigest())
PROGRAM
"""
    job = stack.submit(script, name="large-file")
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    digest = stack.wait_log(job["id"], "digest").split("digest ")[1].strip()
    with stack.client("bob") as client:
        (kept,) = client.get(f"/api/v1/trainjobs/{job['id']}/artifacts").json()["items"]
        assert (kept["name"], kept["size"], kept["sha256"]) == ("out/large.bin", 400_000 * 32, digest)
        found = hashlib.sha256()
        with client.stream("GET", kept["url"]) as answer:
            assert answer.headers["Content-Length"] == str(kept["size"])
            for chunk in answer.iter_bytes():
                found.update(chunk)
        assert found.hexdigest() == digest
        with client.stream("GET", kept["url"]) as answer:  # a client that goes away in the middle disturbs nobody
            next(answer.iter_bytes(1000))
        assert client.get("/livez").status_code == 200


@pytest.mark.only_local(WEB)
def test_health_needs_no_sign_in_and_everything_else_does(stack: Stack) -> None:
    assert httpx.get(f"{stack.url}/livez").text == "ok\n"
    assert httpx.get(f"{stack.url}/readyz").json() == {"database": "ok"}
    page = httpx.get(f"{stack.url}/jobs")
    assert (page.status_code, page.headers["Location"].partition("?")[0]) == (302, "/sign-in")
    assert httpx.get(f"{stack.url}/api/v1/trainjobs").status_code == 401


@pytest.mark.only_local(WEB)
def test_a_page_lets_no_foreign_script_in(stack: Stack) -> None:
    policy = httpx.get(f"{stack.url}/sign-in").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
