"""What holds for every accepted job: it can be built, always alike, in whatever order its maps come; and an exported one reads back the same."""

import copy
import datetime
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.builders import build, expected, generate_keys
from jobs.spec.defaults import default_trainjob
from jobs.spec.export import export_trainjob
from jobs.spec.manifest import dump_manifest, load_manifest
from jobs.spec.validation import validate_trainjob
from runtimes.spec.defaults import default_runtime
from runtimes.spec.validation import validate_runtime
from tests.generated_jobs import CAPABILITIES, POLICIES, Generated, generated

NOW = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
KEYS = generate_keys()
JOBS = st.integers(0, 2**32).map(generated)


def stored(job: Generated) -> tuple[dict[str, Any], dict[str, Any]]:
    """TrainJob and runtime as the API server would keep them."""
    return default_trainjob(job.trainjob, NOW), default_runtime(job.runtime)


def turned(value: Any) -> Any:
    """The same value with every map in reverse order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(list(value))}
    return [turned(item) for item in value] if isinstance(value, list) else value


def test_every_policy_occurs() -> None:
    assert {generated(seed).policy for seed in range(200)} == set(POLICIES)
    assert generated(7) == generated(7)


@settings(max_examples=200, deadline=None)
@given(JOBS)
def test_accepted_and_built_always_alike(job: Generated) -> None:
    assert validate_runtime(job.runtime).refused == []
    assert validate_trainjob(job.trainjob, job.runtime).refused == []
    trainjob, runtime = stored(job)
    objects, counts = build(trainjob, runtime, CAPABILITIES, KEYS), expected(trainjob, runtime, CAPABILITIES)
    assert [o["kind"] for o in objects].count("JobSet") == 1
    assert sum(entry["count"] for entry in counts["replicated_jobs"] if entry["runs_ranks"]) > 0
    again = copy.deepcopy((trainjob, runtime))
    assert build(*again, CAPABILITIES, KEYS) == objects
    assert build(turned(trainjob), turned(runtime), CAPABILITIES, KEYS) == objects
    assert expected(turned(trainjob), turned(runtime), CAPABILITIES) == counts


@settings(max_examples=200, deadline=None)
@given(JOBS)
@example(generated(0))
def test_export_and_import_are_inverse(job: Generated) -> None:
    live = default_trainjob(job.trainjob, NOW)
    server = {"uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-05-01T12:00:00Z"}
    live["metadata"] |= server
    manifest, omitted = export_trainjob(live)
    assert {omission.path for omission in omitted} <= {f"metadata.{key}" for key in server} | {"status"}
    text = dump_manifest(manifest)
    read = load_manifest(text)
    assert read == manifest
    assert dump_manifest(read) == text
    again = default_trainjob(read, NOW)
    assert again["spec"] == live["spec"]
    assert {k: again["metadata"].get(k) for k in ("name", "namespace", "labels")} == {
        k: live["metadata"].get(k) for k in ("name", "namespace", "labels")
    }
    assert validate_trainjob(read, job.runtime).refused == []
