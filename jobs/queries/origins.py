"""Where each effective value of a stored job comes from, for its page and for REST."""

from jobs.models import TrainJob
from jobs.queries.job import live_manifest
from jobs.spec.provenance import Origin, provenance
from runtimes.models import Runtime
from runtimes.services import blueprint_of
from runtimes.spec.parameters import value_sources


def origins_of(job: TrainJob) -> list[Origin]:
    """Return the origins of a job's values; what its runtime would tell is missing until it has one."""
    return provenance(live_manifest(job), job.detail.runtime, _parameters(job))


def _parameters(job: TrainJob) -> dict[str, str]:
    """Field path to parameter, for the parameters that had a value."""
    if not job.detail.blueprint:
        return {}
    row = Runtime.objects.filter(name=job.detail.blueprint, managed=True).first()
    return value_sources(blueprint_of(row), job.detail.parameters) if row is not None and row.source else {}
