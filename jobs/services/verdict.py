"""What the API server itself says of a TrainJob that is not submitted yet: its schema, its quotas, the webhooks of everybody."""

from typing import Any

from django.conf import settings

from jobs.spec.rejections import findings_of_status
from runtimes.spec.findings import Finding, Findings
from trainui.accounts.models import Project
from trainui.cluster import patience
from trainui.cluster.connection import connect
from trainui.cluster.errors import AlreadyExists, ClusterError, Invalid, NotFound

SECONDS = 5.0  # somebody waits for the answer
SILENT, NOW = "cluster_silent", "cluster_says_not_now"


def verdict(project: Project, manifest: dict[str, Any]) -> Findings:
    """Ask by a server-side dry run, which stores nothing, and return the answer at the fields that it names.

    What can never be accepted is an error. What may pass (a quota, a webhook that is down, an API server that does not answer) is a
    warning: the job would be taken and wait.
    """
    found = Findings()
    try:
        with patience.within(SECONDS):
            connect(settings.KUBECONFIG).create(manifest, dry_run=True)
    except Invalid as error:
        found.errors.extend(findings_of_status(_status(error)))
    except AlreadyExists:
        name = manifest["metadata"]["name"]
        message = f"“{name}” is the name of a TrainJob that the cluster has in {project.namespace}: choose another."
        found.submit_checks.append(Finding("metadata.name", "name_taken", message))
    except NotFound as error:
        if f'namespaces "{project.namespace}" not found' not in error.message:  # which comes with its first job
            found.warnings.append(_would_wait(error))
    except ClusterError as error:
        found.warnings.append(_would_wait(error))
    return found


def _status(error: ClusterError) -> dict[str, Any]:
    status = {"code": error.status, "reason": error.reason, "message": error.message}
    return status | {"details": {"causes": error.causes}}


def _would_wait(error: ClusterError) -> Finding:
    said = f"{error.message.rstrip('.')}. {error.advice}".strip()
    if error.status:
        return Finding(
            "", NOW, f"The cluster would not take it now, so it would wait: {said}", {"status": error.status}
        )
    return Finding("", SILENT, f"The cluster could not be asked, so it may still refuse this job: {said}")
