"""Reading parts of runtimes and TrainJobs that may be missing: every function accepts objects with holes."""

from collections.abc import Iterable, Iterator
from typing import Any

from runtimes.spec.kinds import LABEL_ANCESTOR, POLICIES


def dig(value: Any, *keys: str | int) -> Any:
    """Return what the keys lead to, or None where the way ends."""
    for key in keys:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def as_map(value: Any) -> dict[str, Any]:
    """Return the value if it is a map, else an empty map."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def maps(value: Any) -> list[dict[str, Any]]:
    """Return the maps in a list."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def by_name(items: Iterable[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """Return the first item with that name, or None."""
    return next((item for item in items if item.get("name") == name), None)


def replicated_jobs(runtime: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the replicated jobs of a runtime's template."""
    return maps(dig(runtime, "spec", "template", "spec", "replicatedJobs"))


def ancestor_step(replicated_job: dict[str, Any]) -> str:
    """Return the ancestor step a replicated job is labelled with (`trainer`, `dataset-initializer`, ...), or ""."""
    step = dig(replicated_job, "template", "metadata", "labels", LABEL_ANCESTOR)
    return step if isinstance(step, str) else ""


def pod_spec(replicated_job: dict[str, Any]) -> dict[str, Any]:
    """Return the pod spec of a replicated job."""
    return as_map(dig(replicated_job, "template", "spec", "template", "spec"))


def containers(replicated_job: dict[str, Any], kind: str = "containers") -> list[dict[str, Any]]:
    """Return the containers (or, with `initContainers`, those) of a replicated job."""
    return maps(pod_spec(replicated_job).get(kind))


def policies(runtime: dict[str, Any] | None) -> list[str]:
    """Return the names of the ML policies a runtime sets: torch, mpi, jax, xgboost, flux."""
    policy = as_map(dig(runtime, "spec", "mlPolicy"))
    return [name for name in POLICIES if policy.get(name) is not None]


def numbered(items: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the maps in a list with their index in it."""
    for index, item in enumerate(as_list(items)):
        if isinstance(item, dict):
            yield index, item
