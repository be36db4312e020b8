"""TrainJobs turned into JobSets per second on one real API server: ours with one and with two workers, and Kubeflow's controller, in turns."""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig.control_plane import AUDIT_LOG
from tests.rig.instance import USER, ClusterStack, instance_on
from tests.rig.rig import Rig
from tests.rig.upstream import UPSTREAM_USER
from tests.stack import REPO, wait_for
from trainui.up.processes import QUIET, WORKER_THREADS

JOBS, PARALLEL, ROUNDS = 300, 8, 2
SECONDS = 300.0
RUNTIME = "bench-rate"
TRAINER = "trainer.kubeflow.org/v1alpha1"
JOBSET = "jobset.x-k8s.io/v1alpha2"
Object = dict[str, Any]


@dataclass
class Turn:
    """One measured turn: who, of which jobs, how fast, with how many calls, and what came of it."""

    who: str
    suspended: bool
    per_second: float
    calls_per_job: float
    jobsets: list[Object]


def rate() -> list[dict[str, Any]]:
    """Return rates of both, their ratio, calls per job, and in how many JobSets they differ."""
    with tempfile.TemporaryDirectory(prefix="trainui-bench-") as folder:
        rig = Rig.start(Path(folder) / "rig", with_machine=False)
        try:
            rig.add_machines(4, "rate", gpus=0, cpu="1000", memory="1000Gi", taints=[])
            rig.admin.apply(_runtime())
            turns = [turn for number in range(ROUNDS) for turn in _round(rig, Path(folder) / f"round-{number}")]
        finally:
            rig.stop()
    return [line for suspended in (True, False) for line in _lines(turns, suspended)]


def _round(rig: Rig, folder: Path) -> Iterator[Turn]:
    folder.mkdir()
    with instance_on(rig, folder / "data") as stack:
        namespace = stack.project
        rig.kubectl("create", "namespace", namespace)
        for workers in (1, 2):
            with _second_worker(stack) if workers == 2 else contextlib.nullcontext():
                for suspended in (True, False):
                    yield _turn(rig, namespace, f"trainui, {workers} worker" + "s" * (workers - 1), suspended)
    wait_for(lambda: rig.admin.get("v1", "Namespace", "", namespace) is None, SECONDS, "the namespace to go")
    with rig.upstream_trainer(), rig.namespace("bench-upstream") as namespace:
        for suspended in (True, False):
            yield _turn(rig, namespace, "kubeflow trainer 2.3.0", suspended)


@contextlib.contextmanager
def _second_worker(stack: ClusterStack) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "trainui.celery", "--quiet", "worker", "-P", "threads", "-c"]
    worker = subprocess.Popen(
        [*command, str(WORKER_THREADS), "-n", "second", *QUIET],
        cwd=REPO,
        env=stack.environment | stack.addresses(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(30)


def _turn(rig: Rig, namespace: str, who: str, suspended: bool) -> Turn:
    """Create the jobs as fast as the API server takes them, and time from the first one to the last JobSet."""
    jobs = [_trainjob(namespace, number, suspended) for number in range(JOBS)]
    log = rig.folder / AUDIT_LOG
    before, began = log.stat().st_size, time.perf_counter()
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(rig.admin.create, jobs))
    wait_for(lambda: len(_names(rig, namespace)) == JOBS, SECONDS, f"{JOBS} JobSets of {who}")
    seconds = time.perf_counter() - began
    calls = _calls(log, before)
    jobsets = sorted(_list(rig, JOBSET, "JobSet", namespace), key=lambda obj: str(obj["metadata"]["name"]))
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(rig.admin.delete, jobs))
    wait_for(lambda: not _names(rig, namespace), SECONDS, f"the JobSets of {who} to go")
    return Turn(who, suspended, JOBS / seconds, calls / JOBS, jobsets)


def _names(rig: Rig, namespace: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in _list(rig, JOBSET, "JobSet", namespace)]


def _list(rig: Rig, api_version: str, kind: str, namespace: str) -> list[Object]:
    return list(rig.admin.request("GET", rig.admin.path(api_version, kind, namespace))["items"])


def _calls(log: Path, start: int) -> int:
    """Count what either reconciler has asked since then, by the audit log."""
    with open(log, "rb") as file:
        file.seek(start)
        events = [json.loads(line) for line in file if line.endswith(b"\n")]
    return sum(event["user"]["username"] in (USER, UPSTREAM_USER) for event in events)


def _lines(turns: list[Turn], suspended: bool) -> Iterator[dict[str, Any]]:
    """Rates are the best of the rounds, for what else the computer does only slows them down."""
    best: dict[str, Turn] = {}
    for turn in turns:
        if turn.suspended == suspended and turn.per_second > getattr(best.get(turn.who), "per_second", 0.0):
            best[turn.who] = turn
    upstream = best["kubeflow trainer 2.3.0"]
    state = "suspended" if suspended else "running"
    for who, turn in best.items():
        yield {
            "what": f"{JOBS} {state} TrainJobs to JobSets: {who}",
            "per_second": round(turn.per_second, 1),
            "ratio": round(turn.per_second / upstream.per_second, 2),
            "calls_per_job": round(turn.calls_per_job, 1),
            "jobsets_that_differ": _differ(turn.jobsets, upstream.jobsets),
        }


def _differ(ours: list[Object], theirs: list[Object]) -> int:
    """Count JobSets whose spec, labels or annotations are not the same."""
    return sum(_essence(one) != _essence(other) for one, other in zip(ours, theirs, strict=True))


def _essence(jobset: Object) -> Object:
    metadata = jobset["metadata"]
    return {"spec": jobset["spec"]} | {part: metadata.get(part) for part in ("name", "labels", "annotations")}


def _runtime() -> Object:
    container = {
        "name": "node",
        "image": "example/app:1",
        "resources": {"requests": {"cpu": "1", "memory": "128Mi"}},
    }
    pod = {"nodeSelector": {"trainui.dev/machine": "fake"}, "containers": [container]}
    template = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    job = {"name": "node", "template": template | {"spec": {"template": {"spec": pod}}}}
    return {
        "apiVersion": TRAINER,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": RUNTIME, "labels": {"trainer.kubeflow.org/framework": "plain"}},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [job]}}},
    }


def _trainjob(namespace: str, number: int, suspended: bool) -> Object:
    return {
        "apiVersion": TRAINER,
        "kind": "TrainJob",
        "metadata": {"name": f"rate-{number}", "namespace": namespace},
        "spec": {"runtimeRef": {"name": RUNTIME}, "suspend": suspended},
    }
