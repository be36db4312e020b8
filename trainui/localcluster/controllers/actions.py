"""What a pure decision asks the shell to do. The shell does it in the order of the list."""

from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object; when its name is taken, leave what is there."""

    kind: str
    obj: Obj


@dataclass(frozen=True, slots=True)
class Update:
    """Write an object; `subresource` is "status" or None."""

    kind: str
    obj: Obj
    subresource: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete exactly this object (by uid); an absent one is fine. `grace` 0 removes a pod at once."""

    kind: str
    namespace: str
    name: str
    uid: str
    propagation: str = "Background"
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Record an event about an object: type Normal or Warning, reason, message."""

    about: Obj = field(repr=False)
    type: str
    reason: str
    message: str


Action = Create | Update | Delete | Note


@dataclass(slots=True)
class Plan:
    """Actions in order, and the number of seconds after which to look again (None: when something changes)."""

    actions: list[Action] = field(default_factory=list)
    again: float | None = None

    def look_again(self, seconds: float) -> None:
        """Ask to be called again after so many seconds, or sooner if that was asked before."""
        seconds = max(seconds, 0.0)
        self.again = seconds if self.again is None else min(self.again, seconds)
