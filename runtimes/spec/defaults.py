"""What the API server fills into a runtime when it stores one."""

import copy
from typing import Any

from runtimes.spec.runtime_schema import RUNTIME
from runtimes.spec.schema import prune, with_defaults


def default_runtime(runtime: dict[str, Any]) -> dict[str, Any]:
    """Return the runtime as the API server stores it: unknown fields and nulls gone, defaults filled in.

    The defaults are those of the CRD (v2.3.0): OpenMPI, one process per node, /root/.ssh, launcher not a node, 60 s for coscheduling,
    hard topology of tier 1, one replica in group `default`, restart strategy Recreate, TCP. A mirror needs them too, because the objects
    that a controller builds depend on them. Values that are of a wrong type stay as they are: validation reports them.
    """
    defaulted: dict[str, Any] = with_defaults(RUNTIME, prune(RUNTIME, runtime))
    return defaulted


def effective_runtime(runtime: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a defaulted copy of a runtime, or None for None."""
    return default_runtime(copy.deepcopy(runtime)) if runtime is not None else None
