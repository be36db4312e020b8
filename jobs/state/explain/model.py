"""What an explanation is: a code, the numbers that the message tells, and one clause for people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reason:
    """One part of a message; `nodes` is how many machines say so, None when it is not about machines."""

    code: str
    nodes: int | None = None
    resource: str | None = None
    taint: str | None = None
    flavor: str | None = None
    pod_set: str | None = None
    needed: str | None = None
    available: str | None = None
    short_by: str | None = None


@dataclass(frozen=True)
class Explanation:
    """Why something waits, was refused or was lost. Amounts are quantities as text; None means the message does not tell.

    `clause` is a part of a sentence without final stop; `sentence` is the same as a sentence. Both may hold foreign text: pages
    must escape them like any text.
    """

    code: str
    clause: str = ""
    resource: str | None = None
    needed: str | None = None
    available: str | None = None
    short_by: str | None = None
    reasons: tuple[Reason, ...] = ()
    gang: Mapping[str, int] = field(default_factory=dict)
    nodes_total: int | None = None
    queue: str | None = None
    raw: str = ""
    inner: str = ""

    @property
    def cause(self) -> str:
        """The clause without what it says about the gang, for sentences that have said that already."""
        return self.inner or self.clause

    @property
    def known(self) -> bool:
        """Whether the message was understood."""
        return self.code != "Unknown"

    @property
    def sentence(self) -> str:
        """The clause as a sentence; empty when there is nothing to say."""
        first = self.clause.partition(" ")[0]
        begin = self.clause[:1].upper() if first.isalpha() else self.clause[:1]  # names keep their letters
        return f"{begin}{self.clause[1:]}." if self.clause else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as plain JSON data."""
        data = asdict(self) | {"sentence": self.sentence}
        data["reasons"] = [
            {key: value for key, value in reason.items() if value is not None or key == "nodes"}
            for reason in data["reasons"]
        ]
        return data
