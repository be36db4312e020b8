"""Which jobs run right now, asked of the local cluster, for the last words before it stops."""

from trainui.up.config import Config

JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"


def running_jobs(config: Config) -> list[str]:
    """Return `namespace/name` of every job with a running pod; empty when the cluster is another one or does not answer."""
    from trainui.cluster.client import Cluster  # a slow import, needed only here
    from trainui.cluster.errors import ClusterError
    from trainui.cluster.kinds import POD

    if not config.kubeconfig.exists():
        return []
    try:
        pods, _ = Cluster.from_kubeconfig(str(config.kubeconfig)).list(POD, field_selector="status.phase=Running")
    except ClusterError:
        return []
    labelled = [(pod["metadata"]["namespace"], (pod["metadata"].get("labels") or {}).get(JOB_SET_NAME)) for pod in pods]
    return sorted({f"{namespace}/{name}" for namespace, name in labelled if name})
