"""How long a change of a pod takes to reach the row and an open page on a real API server, with 10, 1,000 and 5,000 live pods on KWOK's machines."""

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.played_machine import ready_by_rows
from bench.pod_change import CHANGES, measure
from tests.rig.instance import instance_on
from tests.rig.rig import Rig
from tests.stack import Stack, wait_for
from trainui.cluster.client import Cluster

NODES = 10  # pods of the job that is measured
LEVELS = {
    10: (),
    1_000: (90,) * 11,
    5_000: (100,) * 40,
}  # live pods -> nodes of the jobs that are submitted to get there
MACHINES = 50  # of 110 pods
START_SECONDS = 1_800.0
REST_SECONDS = 5.0  # what was left to do for new pods is done


def live_pods() -> list[dict[str, Any]]:
    """Return the medians from a pod's status to its job's row and to the event of an open page at each level, and their growth."""
    with tempfile.TemporaryDirectory(prefix="trainui-bench-") as folder:
        rig = Rig.start(Path(folder) / "rig", with_machine=False)
        try:
            rig.add_machines(MACHINES, "live", gpus=0, cpu="1000", memory="8000Gi", taints=[])
            with instance_on(rig, Path(folder) / "data") as stack:
                medians = _levels(stack, Cluster.from_kubeconfig(str(rig.kubeconfig())))
        finally:
            rig.stop()
    few = medians[NODES]
    return [
        {
            "what": f"pod status to {name} at {pods} live pods",
            "ms": round(taken[part] * 1000, 1),
            "ratio": round(taken[part] / few[part], 2),
            "changes": CHANGES,
        }
        for pods, taken in medians.items()
        for part, name in enumerate(("row", "browser event"))
    ]


def _levels(stack: Stack, cluster: Cluster) -> dict[int, tuple[float, float]]:
    stack.submit("true", name="live-0", nodes=NODES)
    medians: dict[int, tuple[float, float]] = {}
    for pods, jobs in LEVELS.items():
        for number, nodes in enumerate(jobs):
            stack.submit("true", name=f"live-{pods}-{number}", nodes=nodes)
        wait_for(lambda wanted=pods: ready_by_rows(stack, "live-") == wanted, START_SECONDS, f"{pods} pods to run")  # type: ignore[misc]
        time.sleep(REST_SECONDS)
        medians[pods] = measure(stack, cluster, "live-0", NODES)
    return medians
