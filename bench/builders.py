"""What building costs: the objects of a job by its nodes, and of many jobs one after the other; both should cost the same per piece."""

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from jobs.builders import build, generate_keys
from jobs.spec.defaults import default_trainjob
from runtimes.spec.blueprint import load_blueprint
from runtimes.spec.defaults import default_runtime
from runtimes.spec.parameters import bind
from tests.generated_jobs import CAPABILITIES, Generated, generated

FEW_NODES, MANY_NODES = 100, 10_000
FEW_JOBS, MANY_JOBS = 100, 10_000
RUNS = 7
KEYS = generate_keys()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MPI = Path(__file__).resolve().parents[1] / "runtimes" / "blueprints" / "40-mpi-distributed.yaml"
Lines = list[dict[str, Any]]


def objects() -> Lines:
    """Return size of and time for the objects of a large MPI job per node, against those of a smaller one; its host list names every node."""
    size, took = {}, {}
    for nodes in (FEW_NODES, MANY_NODES):
        job, runtime = _mpi_job(nodes)
        size[nodes] = len(orjson.dumps(build(job, runtime, CAPABILITIES, KEYS))) / nodes
        took[nodes] = _median(lambda job=job, runtime=runtime: build(job, runtime, CAPABILITIES, KEYS), RUNS) / nodes
    return [
        {
            "what": f"{name} of the objects of a job per node, {MANY_NODES} nodes against {FEW_NODES}",
            "ratio": round(found[MANY_NODES] / found[FEW_NODES], 3),
            f"many_{unit}": round(found[MANY_NODES] * scale, 2),
            f"few_{unit}": round(found[FEW_NODES] * scale, 2),
        }
        for name, found, unit, scale in (("bytes", size, "bytes", 1), ("time", took, "us", 1e6))
    ]


def many_jobs() -> Lines:
    """Return the time for building many generated jobs per job, against that for a hundred of them."""
    made = [_stored(generated(seed)) for seed in range(FEW_JOBS)]
    few = _median(lambda: _build_all(made), RUNS) / FEW_JOBS
    began = time.perf_counter()
    for _ in range(MANY_JOBS // FEW_JOBS):
        _build_all(made)
    many = (time.perf_counter() - began) / MANY_JOBS
    return [
        {
            "what": f"building {MANY_JOBS} jobs per job, against {FEW_JOBS}",
            "ratio": round(many / few, 3),
            "many_us": round(many * 1e6, 1),
            "few_us": round(few * 1e6, 1),
        }
    ]


def _mpi_job(nodes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    blueprint = load_blueprint(MPI.read_text(encoding="utf-8"))
    values = {"program": ["true"], "nodes": nodes}
    trainjob, findings = bind(blueprint, "bench", "team-a", values, channel="api")
    assert not findings.refused, findings
    return trainjob, default_runtime(blueprint.runtime)


def _stored(job: Generated) -> tuple[dict[str, Any], dict[str, Any]]:
    return default_trainjob(job.trainjob, NOW), default_runtime(job.runtime)


def _build_all(made: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for trainjob, runtime in made:
        build(trainjob, runtime, CAPABILITIES, KEYS)


def _median(action: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])
