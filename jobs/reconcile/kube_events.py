"""Events that we write on TrainJobs, as Kubeflow's controller does: kubectl describe shows them."""

import hashlib
import logging
from typing import Any

from django.utils import timezone

from trainui.cluster.client import Cluster
from trainui.cluster.errors import AlreadyExists, ClusterError

log = logging.getLogger(__name__)
Object = dict[str, Any]
CREATION_FAILED = "TrainJobResourcesCreationFailed"  # upstream's reason; SDK users look for it
COMPONENT = "trainui"


def creation_failed(cluster: Cluster, trainjob: Object, message: str) -> None:
    """Write a warning that children could not be made; the same message once."""
    metadata = trainjob["metadata"]
    digest = hashlib.sha256(f"{metadata['uid']}{message}".encode()).hexdigest()[:16]
    now = timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{digest}", "namespace": metadata["namespace"]},
        "type": "Warning",
        "reason": CREATION_FAILED,
        "message": message[:950],
        "involvedObject": {
            "apiVersion": trainjob["apiVersion"],
            "kind": "TrainJob",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "source": {"component": COMPONENT},
        # The SDK shows only events with firstTimestamp (facts: kubeflow-trainer 4).
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        cluster.create(event)
    except AlreadyExists:
        return
    except ClusterError as error:
        log.warning("could not write an event on %s: %s", metadata["name"], error)
