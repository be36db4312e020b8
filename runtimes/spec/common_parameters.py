"""The parameters that every blueprint offers: nodes, processes per node, resources per node, extra variables."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from runtimes.spec.access import ancestor_step, as_map, by_name, containers, dig, policies, replicated_jobs
from runtimes.spec.kinds import NODE, STEP_TRAINER
from runtimes.spec.parameter import Parameter

_INT32 = Decimal(2**31 - 1)
_RESOURCES = "spec.trainer.resourcesPerNode"

NODES = Parameter(
    "nodes",
    "Nodes",
    "integer",
    help="How many pods train together.",
    minimum=Decimal(1),
    maximum=_INT32,
    paths=("spec.trainer.numNodes",),
    common=True,
)
PROCESSES = Parameter(
    "processes_per_node",
    "Processes per node",
    "integer",
    help="Ranks in each pod. Left empty, one per accelerator, or one per CPU without accelerators.",
    minimum=Decimal(1),
    maximum=_INT32,
    group="advanced",
    paths=("spec.trainer.numProcPerNode",),
    common=True,
)
CPU = Parameter(
    "cpu", "CPUs per node", "quantity", help="Such as 4 or 500m.", resource="cpu", group="advanced", common=True
)
MEMORY = Parameter(
    "memory", "Memory per node", "quantity", help="Such as 16Gi.", resource="memory", group="advanced", common=True
)
ACCELERATORS = Parameter(
    "accelerators",
    "Accelerators per node",
    "quantity",
    help="GPUs or other devices each pod gets.",
    group="advanced",
    common=True,
)
ENVIRONMENT = Parameter(
    "environment",
    "Extra environment variables",
    "env",
    help="One NAME=value per line.",
    group="advanced",
    multiline=True,
    paths=("spec.trainer.env",),
    common=True,
)


def common_parameters(runtime: dict[str, Any], accelerator: str = "nvidia.com/gpu") -> tuple[Parameter, ...]:
    """Return the common parameters for a runtime, showing what it does where they are left empty.

    accelerator: the resource that accelerators are counted in.
    """
    resources = as_map(_trainer(runtime).get("resources"))
    nodes = dig(runtime, "spec", "mlPolicy", "numNodes") or 1
    processes = next((dig(runtime, "spec", "mlPolicy", p, "numProcPerNode") for p in policies(runtime)), None)
    return (
        replace(NODES, placeholder=str(nodes)),
        replace(PROCESSES, placeholder="" if processes is None else str(processes)),
        _sized(CPU, "cpu", "requests", resources),
        _sized(MEMORY, "memory", "requests", resources),
        _sized(ACCELERATORS, accelerator, "limits", resources),
        ENVIRONMENT,
    )


def _trainer(runtime: dict[str, Any]) -> dict[str, Any]:
    jobs = [job for job in replicated_jobs(runtime) if ancestor_step(job) == STEP_TRAINER]
    found = (by_name(containers(job), NODE) for job in jobs)
    return next((container for container in found if container is not None), {})


def _sized(parameter: Parameter, resource: str, part: str, resources: dict[str, Any]) -> Parameter:
    """The parameter sets `part`, and the other part too if the runtime sets that: else request and limit would contradict each other.

    CPU and memory never get a limit of their own, because Kubeflow's SDK fails on pods with nothing but a memory limit (facts, 4.3).
    """
    other = "limits" if part == "requests" else "requests"
    parts = [part] + ([other] if resource in as_map(resources.get(other)) else [])
    key = f"[{resource}]" if "/" in resource or "." in resource else f".{resource}"
    current = as_map(resources.get(part)).get(resource, as_map(resources.get(other)).get(resource, ""))
    return replace(
        parameter, resource=resource, paths=tuple(f"{_RESOURCES}.{p}{key}" for p in parts), placeholder=str(current)
    )
