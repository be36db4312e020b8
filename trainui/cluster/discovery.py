"""What an API server serves, and its clock: calls that are about no object."""

from datetime import datetime
from email.utils import parsedate_to_datetime

from trainui.cluster.client import Cluster
from trainui.cluster.transport import Request

SECONDS = 10.0


def groups(cluster: Cluster) -> list[str]:
    """Return `group/version` of everything that the cluster serves beside the core group. Raises ClusterError."""
    found = cluster._json(Request("GET", "/apis", "read", "API groups", {})).get("groups") or []
    return sorted(version["groupVersion"] for group in found for version in group.get("versions") or [])


def server_time(cluster: Cluster) -> datetime | None:
    """Return the API server's clock, to the second; None when it does not tell. Raises ClusterError."""
    response = cluster._transport.send(Request("GET", "/version", "read", "clock", {}), SECONDS)
    response.drain_conn()
    told = response.headers.get("Date")
    return parsedate_to_datetime(told) if told else None
