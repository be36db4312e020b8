"""What a long history costs the jobs list: pages and REST at 100,000 rows against 100, and against a view that does nothing."""

import statistics
import time
from typing import Any

import httpx

from tests.stack import Stack

FEW, MANY = 100, 100_000
REQUESTS = 40

_FILL = """
from datetime import timedelta
from django.utils import timezone
from jobs.models import TrainJob
from jobs.state import phases
from trainui.accounts.models import Project, User
project, user = Project.objects.get(name="team-a"), User.objects.get(username="alice")
names, now = list(phases.PHASES), timezone.now()
have = TrainJob.objects.filter(name__startswith="bench-").count()
rows = (TrainJob(project=project, namespace="team-a", name=f"bench-{i}", owner=user, runtime_kind="ClusterTrainingRuntime", runtime_name="plain-command",
                 created_at=now - timedelta(seconds=30 * i), live=False, phase=names[i % len(names)], code="Completed", tone="ok", sentence="Done.",
                 nodes_expected=2, nodes_ready=2) for i in range(have, TOTAL))
TrainJob.objects.bulk_create(rows, batch_size=2000)
"""


def list_of_jobs(stack: Stack) -> list[dict[str, Any]]:
    """Return medians of the page, REST and the empty view with few and with many rows, and their ratios."""
    medians: dict[int, dict[str, float]] = {}
    for total in (FEW, MANY):
        stack.shell(_FILL.replace("TOTAL", str(total)))
        with _signed_in(stack) as client:
            medians[total] = {
                name: _median(client, path)
                for name, path in (("page", "/jobs"), ("rest", "/api/v1/trainjobs"), ("empty", "/livez"))
            }
    lines = []
    for name in ("page", "rest"):
        few, many, empty = medians[FEW][name], medians[MANY][name], medians[MANY]["empty"]
        lines.append(
            {
                "what": f"jobs list ({name}) at {MANY} rows against {FEW}",
                "ratio": round(many / few, 2),
                "many_ms": round(many * 1000, 1),
                "few_ms": round(few * 1000, 1),
            }
        )
        lines.append(
            {
                "what": f"jobs list ({name}) at {MANY} rows against an empty view",
                "ratio": round(many / empty, 1),
                "empty_ms": round(empty * 1000, 1),
            }
        )
    return lines


def _signed_in(stack: Stack) -> httpx.Client:
    client = httpx.Client(base_url=stack.url, timeout=60, follow_redirects=True)
    page = client.get("/sign-in")
    token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    answer = client.post(
        "/sign-in",
        data={"username": "alice", "password": "correct horse alice", "csrfmiddlewaretoken": token},
        headers={"Referer": stack.url},
    )
    assert answer.status_code == 200, answer.text[:500]
    return client


def _median(client: httpx.Client, path: str) -> float:
    times = []
    for _ in range(REQUESTS + 3):
        began = time.perf_counter()
        answer = client.get(path)
        times.append(time.perf_counter() - began)
        assert answer.status_code == 200, (path, answer.status_code)
    return statistics.median(times[3:])
