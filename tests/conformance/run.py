"""`make conformance`: the shared sets through production code, "N passed, N failed" per set and in all.

`python -m tests.conformance.run [DIR]`: with DIR whichever known sets that folder holds; a set that is not known is an error.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class Tally:
    """Counts outcomes per set; a test module `test_NAME.py` is the set NAME."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the call of each test, and failures of its set-up."""
        if report.when == "call" or report.outcome != "passed":
            name = Path(report.location[0]).stem.removeprefix("test_")
            self.outcomes.setdefault(name, Counter())[report.outcome] += 1


def known_sets() -> list[str]:
    """Return the names of the sets that have a test module."""
    return sorted(path.stem.removeprefix("test_") for path in HERE.glob("test_*.py"))


def sets_in(folder: Path) -> list[str]:
    """Return the names of the sets in a folder: files `NAME.json` with a list of cases, and `cases.json`, which names its set."""
    names = []
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "cases" in content:
            names.append(str(content.get("set", path.stem)))
        elif isinstance(content, list):
            names.append(path.stem)
    return names


def main() -> int:
    """Run and print; 0 when everything passed and something ran."""
    modules = [str(HERE)]
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        found = sets_in(folder)
        unknown = sorted(set(found) - set(known_sets()))
        if unknown or not found:
            print(
                f"{folder}: {'unknown sets: ' + ', '.join(unknown) if unknown else 'no set'}; known are {', '.join(known_sets())}"
            )
            return 2
        os.environ["CASES"] = str(folder)
        modules = [str(HERE / f"test_{name}.py") for name in sorted(set(found))]
    tally = Tally()
    code = pytest.main(
        [
            *modules,
            "-q",
            "-n",
            "auto",
            "--dist",
            "loadgroup",
            "--no-header",
            "--no-summary" if os.environ.get("QUIET") else "-q",
        ],
        plugins=[tally],
    )
    total: Counter[str] = Counter()
    for name, outcomes in sorted(tally.outcomes.items()):
        total += outcomes
        print(
            f"{name}: {outcomes['passed']} passed, {outcomes['failed']} failed"
            + (f", {outcomes['skipped']} skipped" if outcomes["skipped"] else "")
        )
    print(f"{total['passed']} passed, {total['failed']} failed")
    return int(code) or (0 if total["passed"] else 1)


if __name__ == "__main__":
    sys.exit(main())
