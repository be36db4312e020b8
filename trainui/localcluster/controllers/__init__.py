"""The controllers of the local cluster: JobSets, Jobs, garbage, machines, pod groups, quotas, and the scheduler."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainui.localcluster.store import Store

BACKOFF_VARIABLE = "TRAINUI_JOB_BACKOFF_SECONDS"
DEFAULT_BACKOFF = 10.0

__all__ = ["BACKOFF_VARIABLE", "backoff_from", "start"]


def backoff_from(environment: dict[str, str] | os._Environ[str]) -> float:
    """Return the seconds before a Job first replaces a failed pod (10, as in Kubernetes), from TRAINUI_JOB_BACKOFF_SECONDS.

    Raises ValueError with the variable's name for what is no number of seconds.
    """
    text = environment.get(BACKOFF_VARIABLE, "").strip()
    if not text:
        return DEFAULT_BACKOFF
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 600:
        raise ValueError(f"{BACKOFF_VARIABLE}: {text!r} is no number of seconds from 0 to 600")
    return seconds


async def start(store: "Store", backoff: float | None = None) -> None:
    """Run all controllers over a store until cancelled.

    `backoff` is the first wait of a Job before it replaces a failed pod; by default the environment says it. Raises ValueError.
    """
    # Here, not above: the pure modules of the scheduler use `meta` of this package, and must not pull in the controllers.
    from trainui.localcluster.controllers.cluster.collector import GarbageCollector
    from trainui.localcluster.controllers.cluster.machine_controllers import LostPodController, MachineController
    from trainui.localcluster.controllers.cluster.pod_groups import PodGroupController
    from trainui.localcluster.controllers.cluster.quotas import QuotaController
    from trainui.localcluster.controllers.job.controller import JobController
    from trainui.localcluster.controllers.jobset.controller import JobSetController
    from trainui.localcluster.controllers.shell import run_all
    from trainui.localcluster.scheduler.controller import Scheduler

    seconds = backoff_from(os.environ) if backoff is None else backoff
    await run_all(
        store,
        [
            GarbageCollector(store),
            JobSetController(store),
            JobController(store, seconds),
            Scheduler(store),
            MachineController(store),
            LostPodController(store),
            PodGroupController(store),
            QuotaController(store),
        ],
    )
