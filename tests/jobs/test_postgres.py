"""What only a database server can do to an instance: go away and come back."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.databases import ON_POSTGRES
from tests.jobs.tools import submissions
from tests.postgres import Server
from tests.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")
KEPT = ("uvicorn", "--quiet worker", "manage.py watch")
COUNTER = """
number=0
while [ ! -e {path} ]; do number=$((number + 1)); echo "line $number"; sleep 0.05; done
echo "counted to $number"
"""


def cut_off(server: Server, name: str) -> None:
    """End all connections to a database and take no new ones, as a server that is being started again."""
    server.sql(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    server.sql(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608


@pytest.mark.parametrize("stack", [ON_POSTGRES], indirect=True)
def test_the_server_goes_away_and_comes_back(stack: Stack, postgres_server: Server, tmp_path: Path) -> None:
    name = urlsplit(stack.environment["DATABASE_URL"]).path[1:]
    end = tmp_path / "end"
    job = stack.submit(COUNTER.format(path=end), name="outlives-the-server")
    stack.wait(job["id"], "Running")
    stack.wait_log(job["id"], "line 3")
    processes = [stack.pids(process) for process in KEPT]
    with stack.client() as client:
        cut_off(postgres_server, name)
        try:
            answer = client.get("/api/v1/trainjobs")
            ready = client.get("/readyz")
        finally:
            postgres_server.sql(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
        assert answer.headers["Retry-After"]
        assert name not in answer.text
        assert ready.status_code == 503
        wait_for(lambda: client.get("/readyz").status_code == 200, 60, "the database to answer again")
    end.touch()
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    lines = stack.wait_log(job["id"], "counted to").splitlines()
    assert lines[:-1] == [f"line {n}" for n in range(1, len(lines))]
    assert submissions(stack, job["id"]) == ["outlives-the-server"]
    assert [stack.pids(process) for process in KEPT] == processes  # none had to be started again
