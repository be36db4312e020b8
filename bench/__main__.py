"""Runs all measurements, or those named: `python -m bench first_line list`."""

import json
import sys
import tempfile
from pathlib import Path

from bench import job_list, jobs
from tests.stack import Stack, running

MEASUREMENTS = {"first_line": jobs.first_line, "throughput": jobs.throughput, "list": job_list.list_of_jobs}


def main() -> None:
    """Start an instance, measure, print."""
    wanted = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in wanted if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"bench: there is no measurement {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    with (
        tempfile.TemporaryDirectory(prefix="trainui-bench-") as folder,
        running(Path(folder) / "data", machines="local-0:cpu=4,memory=8Gi") as stack,
    ):
        for name in wanted:
            for line in measure(name, stack):
                print(json.dumps(line), flush=True)


def measure(name: str, stack: Stack) -> list[dict[str, object]]:
    """Return the lines of one measurement."""
    return [{"measurement": name, **line} for line in MEASUREMENTS[name](stack)]


main()
