"""What a rule looks at."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from runtimes.spec.access import as_map, dig, policies
from runtimes.spec.findings import Finding


@dataclass(frozen=True)
class Case:
    """One TrainJob to judge, pruned and defaulted, with its runtime.

    runtime: the runtime (or the job's own snapshot of it), defaulted; None if it is not there.
    priority_classes: names that exist in the cluster; None if that is not known.
    """

    trainjob: dict[str, Any]
    runtime: dict[str, Any] | None = None
    priority_classes: Collection[str] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """The TrainJob's spec."""
        return as_map(self.trainjob.get("spec"))

    @property
    def trainer(self) -> dict[str, Any]:
        """`spec.trainer`; an absent one is an empty one."""
        return as_map(self.spec.get("trainer"))

    @property
    def policies(self) -> list[str]:
        """The ML policies of the runtime."""
        return policies(self.runtime)

    def policy(self, name: str) -> dict[str, Any]:
        """Return one ML policy of the runtime, empty if it is not set."""
        return as_map(dig(self.runtime, "spec", "mlPolicy", name))


Rule = Callable[[Case], Iterator[Finding]]
