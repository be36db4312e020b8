"""Who reports: a pod of the job, by the token that its cluster gives it, or by the job's own where the cluster gives none."""

import hashlib
import hmac

from django.conf import settings
from django.core.cache import cache

from jobs.models import MirrorObject, TrainJob
from jobs.reconcile.desired import progress_audience, progress_token
from trainui.cluster import kinds
from trainui.cluster.client import Object
from trainui.cluster.connection import connect

POD_UID = "authentication.kubernetes.io/pod-uid"
REMEMBERED_SECONDS = 60  # programs report every few seconds


class Refused(Exception):
    """A token that does not prove that its bearer is a pod of the job; the text says what is wrong with it."""


def check_token(job: TrainJob, token: str) -> None:
    """Return when the token is that of a pod of the job.

    Raises Refused when it is not, ClusterError when the cluster does not answer whose it is.
    """
    if not settings.POD_DNS:
        if not hmac.compare_digest(token.encode(), progress_token(job.pk).encode()):
            raise Refused("The token is not that of this job.")
        return
    key = f"progress:{job.pk}:{hashlib.sha256(token.encode()).hexdigest()}"
    if cache.get(key):
        return
    _check_pod(job, _reviewed(job, token))
    cache.set(key, True, REMEMBERED_SECONDS)


def _reviewed(job: TrainJob, token: str) -> Object:
    """Return the user that the cluster knows by a token. Raises Refused."""
    audience = progress_audience(job.namespace, job.name)
    kind = kinds.TOKEN_REVIEW
    review = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {},
        "spec": {"token": token, "audiences": [audience]},
    }
    status = connect(settings.KUBECONFIG).create(review).get("status") or {}
    # A server that knows nothing of audiences names none: then the token may have been made for anybody.
    if not status.get("authenticated") or audience not in (status.get("audiences") or []):
        raise Refused("The token is not one that the cluster made for the reports of this job.")
    user: Object = status.get("user") or {}
    return user


def _check_pod(job: TrainJob, user: Object) -> None:
    if not str(user.get("username", "")).startswith(f"system:serviceaccount:{job.namespace}:"):
        raise Refused("The token is not that of a service account of the job's namespace.")
    uids = (user.get("extra") or {}).get(POD_UID) or []
    if not uids or not MirrorObject.objects.filter(kind=kinds.POD.key, uid__in=uids, job=job).exists():
        raise Refused("The token is not that of a pod of this job.")
