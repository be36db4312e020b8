"""torchrun: the PET_* environment of every node, and torchtune's command."""

from jobs.spec.accelerators import cpu_count, device_count

from . import torchtune
from .containers import Obj, add_port, all_containers, index_env, pod_spec, set_env, value_env
from .draft import Draft, Roles
from .plain import roles as roles

AUTO = "auto"


def processes(draft: Draft, target: Obj | None) -> str:
    """Return PET_NPROC_PER_NODE: what the TrainJob says, else `auto` with accelerators, else the CPUs, at least 1.

    Read from the merged resources of the container that runs the ranks (kubeflow/trainer PR#3974).
    """
    if asked := draft.procs_per_node:
        return str(asked)
    resources = (target or {}).get("resources")
    return AUTO if device_count(resources) else str(max(1, cpu_count(resources)))


def configure(draft: Draft, who: Roles) -> None:
    """Inject torchrun's environment and port into the trainer's containers and the runtime's injection targets."""
    first = who.ranks[0] if who.ranks else None
    meet = draft.rendezvous(first)
    main = who.main(first) if first else None
    nproc = processes(draft, main)
    tuned = torchtune.is_torchtune(draft)
    nodes = [("PET_NNODES", str(draft.nodes)), ("PET_NPROC_PER_NODE", nproc)]
    master = [("PET_MASTER_ADDR", meet.address), ("PET_MASTER_PORT", str(meet.port))]
    for target in who.rank_containers:
        set_env(
            target, [*value_env(nodes), index_env("PET_NODE_RANK"), *value_env([] if tuned else master)], first=True
        )
        add_port(target, meet.port)
        if tuned:
            torchtune.set_command(draft, target, nproc, meet)
    complete = [*value_env(nodes), index_env("PET_NODE_RANK"), *value_env(master)]
    injection = (draft.ml_policy.get("torch") or {}).get("envInjection") or {}
    for wanted in injection.get("targets") or []:
        job = draft.job(wanted.get("jobName", ""))
        names = wanted.get("containerNames") or []
        for target in all_containers(pod_spec(job)) if job else ():
            if target.get("name") in names:
                set_env(target, complete, first=True)
