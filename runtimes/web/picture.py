"""Which pods a runtime makes: its replicated jobs in the order in which they start, with roles, counts and images."""

import shlex
from dataclasses import dataclass
from typing import Any

from runtimes.spec.access import ancestor_step, as_map, containers, dig, maps, policies, replicated_jobs
from runtimes.spec.kinds import LAUNCHER, NODE, STEP_DATASET, STEP_MODEL, STEP_TRAINER

_ROLES = {
    STEP_DATASET: ("Dataset initializer", "arrow-down-tray"),
    STEP_MODEL: ("Model initializer", "arrow-down-tray"),
    "launcher": ("Launcher", "command-line"),
    "launcher-node": ("Launcher, trains too", "command-line"),
    "nodes": ("Training nodes", "server-stack"),
    "other": ("Helper", "cube"),
}
_COMMAND_SHOWN = 90


@dataclass(frozen=True)
class Box:
    """One replicated job. pods: how many, in words. waits: what must have happened before it starts. detail: (name, value) pairs."""

    name: str
    role: str
    icon: str
    pods: str
    waits: list[str]
    image: str
    command: str
    detail: list[tuple[str, str]]


@dataclass(frozen=True)
class Picture:
    """stages: boxes that start together, stage after stage. policy: the ML policy's name. nodes: how many a job has unless it says otherwise.
    facts: the rest at a glance."""

    stages: list[list[Box]]
    policy: str
    nodes: int
    facts: list[tuple[str, str]]


def picture_of(runtime: dict[str, Any]) -> Picture:
    """Return the picture of a runtime; one with holes gives one with holes."""
    policy = next(iter(policies(runtime)), "plain")
    nodes = dig(runtime, "spec", "mlPolicy", "numNodes")
    nodes = nodes if isinstance(nodes, int) and nodes > 0 else 1
    jobs = replicated_jobs(runtime)
    boxes = {str(job.get("name", "")): _box(job, jobs, runtime, policy, nodes) for job in jobs}
    return Picture(_stages(jobs, boxes), policy, nodes, _facts(runtime, policy))


def _stages(jobs: list[dict[str, Any]], boxes: dict[str, Box]) -> list[list[Box]]:
    """Each job one stage after the last of those it depends on; a ring, which the cluster refuses, ends in one stage."""
    before = {str(job.get("name", "")): [str(d.get("name", "")) for d in maps(job.get("dependsOn"))] for job in jobs}
    stages: list[list[Box]] = []
    placed: set[str] = set()
    while len(placed) < len(before):
        ready = [n for n in before if n not in placed and all(d in placed or d not in before for d in before[n])]
        ready = ready or [n for n in before if n not in placed]
        stages.append([boxes[name] for name in ready])
        placed.update(ready)
    return stages


def _box(job: dict[str, Any], jobs: list[dict[str, Any]], runtime: dict[str, Any], policy: str, nodes: int) -> Box:
    name = str(job.get("name", ""))
    role, count = _role(job, jobs, runtime, policy, nodes)
    container = next(iter(containers(job)), {})
    words = [*map(str, container.get("command") or []), *map(str, container.get("args") or [])]
    command = shlex.join(words)
    title, icon = _ROLES[role]
    waits = [f"{d.get('name')} is {str(d.get('status', 'Complete')).lower()}" for d in maps(job.get("dependsOn"))]
    return Box(
        name=name,
        role=title,
        icon=icon,
        pods=f"{count} pod{'s' if count != 1 else ''}",
        waits=waits,
        image=str(container.get("image", "")),
        command=command if len(command) <= _COMMAND_SHOWN else f"{command[:_COMMAND_SHOWN]}…",
        detail=_resources(container),
    )


def _role(
    job: dict[str, Any], jobs: list[dict[str, Any]], runtime: dict[str, Any], policy: str, nodes: int
) -> tuple[str, int]:
    """Return role and pods of a job with as many nodes as the runtime says (the counts of jobs.spec.names, which runtimes cannot import)."""
    name, step = str(job.get("name", "")), ancestor_step(job)
    own = _positive(job.get("replicas")) * _positive(dig(job, "template", "spec", "parallelism"))
    if step in (STEP_DATASET, STEP_MODEL):
        return step, own
    if policy == "mpi":
        trains = bool(dig(runtime, "spec", "mlPolicy", "mpi", "runLauncherAsNode"))
        has_launcher = any(other.get("name") == LAUNCHER for other in jobs)
        if name == LAUNCHER:
            return ("launcher-node" if trains else "launcher"), 1
        if name == NODE:
            return "nodes", nodes - 1 if trains and has_launcher else nodes
        return "other", own
    return ("nodes", nodes) if step == STEP_TRAINER else ("other", own)


def _positive(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def _resources(container: dict[str, Any]) -> list[tuple[str, str]]:
    resources = as_map(container.get("resources"))
    requests, limits = as_map(resources.get("requests")), as_map(resources.get("limits"))
    names = dict.fromkeys([*requests, *limits])
    return [(_LABELS.get(name, name), str(requests.get(name, limits.get(name)))) for name in names]


_LABELS = {"cpu": "CPU", "memory": "Memory", "nvidia.com/gpu": "GPUs"}


def _facts(runtime: dict[str, Any], policy: str) -> list[tuple[str, str]]:
    spec = as_map(runtime.get("spec"))
    template = as_map(dig(spec, "template", "spec"))
    facts = []
    processes = dig(spec, "mlPolicy", policy, "numProcPerNode")
    if processes is not None:
        facts.append(("Processes per node", str(processes)))
    restarts = dig(template, "failurePolicy", "maxRestarts")
    if restarts is not None:
        facts.append(("Restarts allowed", str(restarts)))
    gang = dig(runtime, "metadata", "annotations", "trainui.dev/gang-scheduler")
    group = as_map(spec.get("podGroupPolicy"))
    if group or gang:
        facts.append(("Placed together", ", ".join(group) or str(gang)))
    success = dig(template, "successPolicy", "targetReplicatedJobs")
    if isinstance(success, list) and success:
        facts.append(("Done when", f"{', '.join(map(str, success))} complete{'s' if len(success) == 1 else ''}"))
    return facts
