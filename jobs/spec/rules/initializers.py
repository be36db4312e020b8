"""Rules about dataset and model initializers."""

from collections.abc import Iterator
from typing import Any

from jobs.spec.rules.base import Case
from jobs.spec.storage import is_taken, parse_uri
from runtimes.spec.access import ancestor_step, as_map, by_name, containers, dig, maps, replicated_jobs
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import STEP_DATASET, STEP_MODEL

ROLES = {"dataset": STEP_DATASET, "model": STEP_MODEL}
VOLUME = "initializer"


def storage_uri(case: Case) -> Iterator[Finding]:
    """A storage URI is empty or has a scheme and something after it (CEL)."""
    for role in ROLES:
        uri = dig(case.spec, "initializer", role, "storageUri")
        if isinstance(uri, str) and not is_taken(uri):
            message = "storageUri may be empty, or it must be a valid URI (scheme://...)"
            yield Finding(f"spec.initializer.{role}.storageUri", "invalid_uri", message)


def find_initializer(runtime: dict[str, Any] | None, step: str) -> dict[str, Any] | None:
    """Return the replicated job that initializes: the one with the ancestor label, else the one of that name.

    Upstream looks at the name only (marked in the conformance set).
    """
    jobs = replicated_jobs(runtime)
    return next((job for job in jobs if ancestor_step(job) == step), None) or by_name(jobs, step)


def initializer_job(case: Case) -> Iterator[Finding]:
    """The runtime has the job and container that a given initializer needs, and a volume to hand the data on (webhook)."""
    for role, step in ROLES.items():
        wanted = dig(case.spec, "initializer", role)
        if wanted is None or case.runtime is None:
            continue
        job = find_initializer(case.runtime, step)
        if job is None:
            message = f"must have {step} job when trainJob is configured with input {role}Config"
            yield Finding("spec.runtimeRef", "initializer_missing", message)
            continue
        container = by_name(containers(job), step)
        if container is None:
            message = f"must have container with name - {step} in the {step} job"
            yield Finding("spec.runtimeRef", "initializer_missing", message)
        elif not _is_cache(as_map(wanted), container) and not _mounts(container):
            message = f"must have volumeMount with name - {VOLUME} in the {step} job, or its data reaches no node"
            yield Finding("spec.runtimeRef", "initializer_missing", message)


def _mounts(container: dict[str, Any]) -> bool:
    return any(mount.get("name") == VOLUME for mount in maps(container.get("volumeMounts")))


def _is_cache(wanted: dict[str, Any], container: dict[str, Any]) -> bool:
    """Whether the initializer starts a data cache: it hands nothing on by a volume. Upstream asks for one all the same and so refuses
    every job of its own runtime torch-distributed-with-cache (facts, 1.5)."""
    runtime_uri = (by_name(maps(container.get("env")), "STORAGE_URI") or {}).get("value") or ""
    return parse_uri(wanted.get("storageUri") or runtime_uri).scheme == "cache"
