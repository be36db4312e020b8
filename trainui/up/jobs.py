"""Which jobs run right now, asked of the local cluster, for the last words before it stops."""

import json
import urllib.request

import yaml

from trainui.up.config import Config

JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"


def running_jobs(config: Config) -> list[str]:
    """Return `namespace/name` of every job with a running pod; empty when the cluster is another one or does not answer."""
    try:
        document = yaml.safe_load(config.kubeconfig.read_text())
        server, token = document["clusters"][0]["cluster"]["server"], document["users"][0]["user"]["token"]
        request = urllib.request.Request(
            f"{server}/api/v1/pods?fieldSelector=status.phase%3DRunning", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=3) as answer:
            pods = json.load(answer)["items"]
    except (OSError, KeyError, ValueError, yaml.YAMLError):
        return []
    labelled = [(p["metadata"]["namespace"], (p["metadata"].get("labels") or {}).get(JOB_SET_NAME)) for p in pods]
    return sorted({f"{namespace}/{name}" for namespace, name in labelled if name})
