"""`make conformance`: the shared sets through production code, "N passed, N failed" per set and in all.

`python -m tests.conformance.run [DIR]`: with DIR whichever known sets that folder holds; a set that is not known is an error.
A case passes when all its tests pass; what fails beside the cases counts as failed. Cases that are left out (the longest logs, without
TRAINUI_LONG=1) or that no test looks at are counted as not run.
"""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.corpus import PLACES, TwiceError, cases, sets_in

HERE = Path(__file__).parent


class Tally:
    """Collects the outcomes of each set's tests, by case or, for other tests, by their name."""

    def __init__(self) -> None:
        self.outcomes: dict[str, dict[str, set[str]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of the call of each test, and of set-ups and tear-downs that did not pass."""
        if report.when == "call" or report.outcome != "passed":
            name = Path(report.location[0]).stem.removeprefix("test_")
            test, _, case = report.location[2].partition("[")
            self.outcomes.setdefault(name, {}).setdefault(case.removesuffix("]") or test, set()).add(report.outcome)

    def of(self, name: str, ids: set[str]) -> Counter[str]:
        """Return how many cases of a set passed, failed, were skipped and were not run."""
        seen = self.outcomes.get(name, {})
        counts = Counter(_verdict(seen.get(case, set())) for case in ids)
        counts["failed"] += sum("failed" in outcomes for test, outcomes in seen.items() if test not in ids)
        return counts


def _verdict(outcomes: set[str]) -> str:
    """The worst of the outcomes."""
    return next((outcome for outcome in ("failed", "skipped", "passed") if outcome in outcomes), "not run")


def wanted_sets(arguments: list[str]) -> list[str]:
    """Return the sets to run: all known ones, or those of the folder that is given. Ends with 2 for a folder that cannot be run."""
    if not arguments:
        return sorted(PLACES)
    folder = Path(arguments[0])
    try:
        found = sets_in(folder)
    except (TwiceError, ValueError) as error:
        return _refuse(folder, str(error))
    if unknown := sorted(set(found) - set(PLACES)):
        return _refuse(folder, f"unknown sets: {', '.join(unknown)}")
    if not found:
        return _refuse(folder, "no set")
    os.environ["CASES"] = str(folder)
    return sorted(found)


def _refuse(folder: Path, why: str) -> list[str]:
    print(f"{folder}: {why}; known are {', '.join(sorted(PLACES))}", file=sys.stderr)
    sys.exit(2)


def main() -> int:
    """Run and print; 0 when everything passed and something ran."""
    names = wanted_sets(sys.argv[1:])
    tally = Tally()
    modules = [str(HERE / f"test_{name}.py") for name in names]
    code = pytest.main([*modules, "-q", "-q", "-n", "auto", "--dist", "loadgroup", "--no-header"], plugins=[tally])
    total: Counter[str] = Counter()
    for name in names:
        counts = tally.of(name, {str(case["id"]) for case in _present(name)})
        total += counts
        more = "".join(f", {counts[word]} {word}" for word in ("skipped", "not run") if counts[word])
        print(f"{name}: {counts['passed']} passed, {counts['failed']} failed{more}")
    print(f"{total['passed']} passed, {total['failed']} failed")
    return int(code) or (0 if total["passed"] and not total["failed"] else 1)


def _present(name: str) -> list[dict[str, object]]:
    """The cases of a set; none where the shared files are not beside the checkout."""
    try:
        return cases(name)
    except pytest.skip.Exception:
        return []


if __name__ == "__main__":
    sys.exit(main())
