"""Rules of runtime patches: who may set them, and that they patch what the runtime has."""

import re
from collections.abc import Iterator
from typing import Any

from jobs.spec.rules.base import Case
from runtimes.spec.access import by_name, containers, dig, numbered, replicated_jobs
from runtimes.spec.dns import SUBDOMAIN_MESSAGE, is_subdomain
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import STEP_CONTAINERS

_MANAGER_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_OWN_ENV = ", ".join(sorted(STEP_CONTAINERS.values()))


def manager(case: Case) -> Iterator[Finding]:
    """A manager is a domain and a path, such as acme.io/foo (webhook)."""
    for index, patch in numbered(case.spec.get("runtimePatches")):
        path = f"spec.runtimePatches[{index}].manager"
        domain, _, rest = str(patch.get("manager") or "").partition("/")
        if not patch.get("manager"):
            continue
        if not domain or not rest:
            yield Finding(path, "invalid_name", 'must be a domain-prefixed path (such as "acme.io/foo")')
        elif not is_subdomain(domain):
            yield Finding(path, "invalid_name", SUBDOMAIN_MESSAGE)
        elif not _MANAGER_PATH.fullmatch(rest):
            yield Finding(path, "invalid_name", f'Invalid path "{rest}"')


def job_patches(case: Case) -> Iterator[tuple[str, dict[str, Any], dict[str, Any] | None]]:
    """Yield the path and content of each patch of a replicated job, with the job it patches (None if there is none)."""
    jobs = replicated_jobs(case.runtime)
    for index, patch in numbered(case.spec.get("runtimePatches")):
        base = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template.spec.replicatedJobs"
        for position, job in numbered(dig(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")):
            yield f"{base}[{position}]", job, by_name(jobs, str(job.get("name")))


def _container_patches(path: str, job: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    pod = dig(job, "template", "spec", "template", "spec")
    for kind in ("initContainers", "containers"):
        for index, container in numbered(dig(pod, kind)):
            yield f"{path}.template.spec.template.spec.{kind}[{index}]", kind, container


def known_jobs(case: Case) -> Iterator[Finding]:
    """A patch is for a replicated job of the runtime (webhook of the main branch; v2.3.0 takes it and JobSet refuses later)."""
    if case.runtime is None:
        return
    for path, patch, job in job_patches(case):
        if job is None:
            message = (
                f"must not have replicated job that doesn't exist in the runtime job template: {patch.get('name')}"
            )
            yield Finding(f"{path}.name", "unknown_reference", message)


def known_containers(case: Case) -> Iterator[Finding]:
    """A patch is for a container, or init container, that the replicated job has (as for jobs; upstream mixes the two kinds)."""
    for path, patch, job in job_patches(case):
        if job is None:
            continue
        for place, kind, container in _container_patches(path, patch):
            if by_name(containers(job, kind), str(container.get("name"))) is None:
                what = "initContainer" if kind == "initContainers" else "container"
                message = f"must not have {what} that doesn't exist in the runtime job {patch.get('name')}: {container.get('name')}"
                yield Finding(f"{place}.name", "unknown_reference", message)


def own_env(case: Case) -> Iterator[Finding]:
    """Variables of the main containers are set in spec.trainer and spec.initializer, not in patches (webhook)."""
    for path, patch, _job in job_patches(case):
        for place, kind, container in _container_patches(path, patch):
            if kind == "containers" and container.get("env") and container.get("name") in STEP_CONTAINERS.values():
                yield Finding(f"{place}.env", "forbidden", f"must not have envs for the {_OWN_ENV} containers")
