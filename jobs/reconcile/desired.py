"""What the children of a TrainJob should be now: its own runtime copy, checked and built."""

import hmac
import random
import socket
import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError

from jobs import builders
from jobs.builders.capabilities import Progress, Rendezvous
from jobs.builders.keys import generate_keys
from jobs.models import TrainJob, TrainJobDetail
from jobs.reconcile.capabilities import capabilities
from jobs.reconcile.lease import guarded
from jobs.reconcile.runtimes import find_runtime
from jobs.spec.validation import validate_trainjob
from trainui.cluster import kinds

Object = dict[str, Any]
PORTS = range(20_000, 30_000)


class NotYet(Exception):
    """The job cannot be built now but may be later; the text says what is missing."""


@dataclass(frozen=True)
class Desired:
    """The children, and what `observe` must expect of them."""

    objects: list[Object]
    expected: list[Object]
    gang: Object | None


def desired(job: TrainJob, trainjob: Object, token: uuid.UUID, have_keys: bool) -> Desired:
    """Build the children of a job, with fresh key material unless it has some (`have_keys`).

    Raises NotYet when its runtime is missing, BuildError for what can never be built.
    """
    runtime = _runtime(job, trainjob)
    findings = validate_trainjob(trainjob, runtime)
    if findings.errors:
        raise builders.BuildError(findings.errors)
    has = capabilities(_rendezvous(job, token), progress_of(job))
    keys = generate_keys() if builders.needs_keys(runtime) and not have_keys else None
    counts = builders.expected(trainjob, runtime, has)
    return Desired(builders.build(trainjob, runtime, has, keys), counts["replicated_jobs"], counts.get("gang"))


def progress_of(job: TrainJob) -> Progress:
    """Return where the pods of a job report progress, and what lets them: on Kubernetes their own token, else one of the job."""
    base = f"{settings.POD_URL}/progress/{job.pk}"
    addresses = {"url": f"{base}/status", "artifacts_url": f"{base}/artifacts"}
    if settings.POD_DNS:
        return Progress(**addresses, audience=progress_audience(job.namespace, job.name), authority=settings.POD_CA)
    return Progress(**addresses, token=progress_token(job.pk))


def progress_audience(namespace: str, name: str) -> str:
    """Return whom the tokens are for that pods of a job report with, as upstream names it."""
    return f"{kinds.TRAIN_JOB.api_version}/namespaces/{namespace}/trainjobs/{name}/status"


def progress_token(job_id: uuid.UUID) -> str:
    """Return the token of a job's reports: derived, so that nothing is stored and every build gives the same Secret."""
    return "tjp_" + hmac.new(settings.SECRET_KEY.encode(), f"progress:{job_id}".encode(), "sha256").hexdigest()


def _runtime(job: TrainJob, trainjob: Object) -> Object:
    """Return the job's own copy of its runtime, taken at submission or now; later edits of the runtime do not reach it."""
    if job.detail.runtime is not None:
        return dict(job.detail.runtime)
    runtime = find_runtime(trainjob, job.project)
    if runtime is None:
        raise NotYet(f"{job.runtime_kind} {job.runtime_name} does not exist; the job starts when it is created.")
    TrainJobDetail.objects.filter(pk=job.pk).update(runtime=runtime)
    job.detail.runtime = runtime
    return runtime


def _rendezvous(job: TrainJob, token: uuid.UUID) -> Rendezvous | None:
    """Return address and leased port for machines where pod names do not resolve."""
    if settings.POD_DNS:
        return None
    while job.port is None:
        port = random.choice(PORTS)  # noqa: S311  spread, not secrecy
        if _free(port):
            try:
                if not guarded(job.pk, token, port=port):
                    raise NotYet("another worker took this job over.")
                job.port = port
            except IntegrityError:  # another job has it
                continue
    return Rendezvous("127.0.0.1", job.port)


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
