"""The cluster for those who reconcile: only while this installation is the only one that does."""

import hashlib
import hmac
from urllib.parse import urlsplit

from django.conf import settings

from trainui.cluster.claim import Claim
from trainui.cluster.client import Cluster
from trainui.cluster.connection import connect


def installation() -> str:
    """Return the name of this installation, the same in all its processes: its host, and what tells two of one host apart."""
    digest = hmac.new(settings.SECRET_KEY.encode(), b"installation", hashlib.sha256).hexdigest()[:12]
    return f"{urlsplit(settings.PUBLIC_URL).netloc}_{digest}"


_claim = Claim(installation())


def claimed() -> Cluster:
    """Return the client of a cluster that is ours to reconcile. Raises Taken while it is not, ClusterError while nobody can tell.

    The local cluster of this installation has no other.
    """
    cluster = connect(settings.KUBECONFIG)
    if not settings.OWN_CLUSTER:
        _claim.ensure(cluster)
    return cluster
