"""How long a change of a pod takes to reach the row and an open page, with 1,000 live pods against 10."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.played_machine import cluster_of, run_all
from bench.pod_change import CHANGES, measure
from tests.stack import Stack

FEW, MANY = 10, 1_000
NODES = 10  # pods of each job
PARALLEL = 8


def latency(stack: Stack) -> list[dict[str, Any]]:
    """Return the medians from a pod's status to its job's row and to the event of an open page, and their ratios."""
    medians: dict[int, tuple[float, float]] = {}
    made = 0
    for pods in (FEW, MANY):
        numbers = range(made, pods // NODES)
        with ThreadPoolExecutor(PARALLEL) as pool:
            list(pool.map(lambda n: stack.submit("true", name=f"live-{n}", nodes=NODES), numbers))
        run_all(stack, "live-", pods)
        made = numbers.stop
        medians[pods] = measure(stack, cluster_of(stack), "live-0", NODES)
    return [
        {
            "what": f"pod status to {name} at {MANY} live pods against {FEW}",
            "ratio": round(many / few, 2),
            "many_ms": round(many * 1000, 1),
            "few_ms": round(few * 1000, 1),
            "changes": CHANGES,
        }
        for name, few, many in zip(("row", "browser event"), medians[FEW], medians[MANY], strict=True)
    ]
