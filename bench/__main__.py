"""Runs all measurements, or those named: `python -m bench first_line list`."""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import builders, gang_state, idle, job_list, jobs, latency, live_pods, played_machine, rate
from tests.stack import Stack, running

Lines = list[dict[str, object]]


@dataclass(frozen=True)
class Measurement:
    """What is measured, on which machines; those on the same machines share an instance, in the order of the table.

    machines: "" for what needs no instance, or starts its own.
    """

    measure: Callable[..., Lines]
    machines: str = "local-0:cpu=4,memory=8Gi"


MEASUREMENTS = {
    "objects": Measurement(builders.objects, ""),
    "builds": Measurement(builders.many_jobs, ""),
    "idle": Measurement(idle.idle, idle.MACHINES),
    "latency": Measurement(latency.latency, played_machine.MACHINES),
    "live_pods": Measurement(live_pods.live_pods, ""),
    "gang_state": Measurement(gang_state.gang_state, played_machine.MACHINES),
    "rate": Measurement(rate.rate, ""),
    "first_line": Measurement(jobs.first_line),
    "throughput": Measurement(jobs.throughput),
    "list": Measurement(job_list.list_of_jobs),
}


def main() -> None:
    """Start an instance for each kind of machines, measure, print."""
    wanted = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in wanted if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"bench: there is no measurement {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    for machines in dict.fromkeys(MEASUREMENTS[name].machines for name in wanted):
        names = [name for name in wanted if MEASUREMENTS[name].machines == machines]
        if not machines:
            measure_all(names)
            continue
        with (
            tempfile.TemporaryDirectory(prefix="trainui-bench-") as folder,
            running(Path(folder) / "data", machines=machines) as stack,
        ):
            measure_all(names, stack)


def measure_all(names: list[str], *stack: Stack) -> None:
    """Print the lines of some measurements, of one instance where they need one."""
    for name in names:
        for line in MEASUREMENTS[name].measure(*stack):
            print(json.dumps({"measurement": name, **line}), flush=True)


main()
