"""What a check found: one vocabulary for forms, REST, dry run, the admission webhook and reconcile."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_TEXT = 1000


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong at one field.

    path: Kubernetes field path (`spec.trainer.env[2].name`), or `parameters.NAME` for a blueprint parameter; "" is the object.
    code: class of the error (`out_of_range`, `unknown_field`, ...), stable for programs.
    message: one sentence for people: what is wrong and what would be right.
    params: numbers or names a program may want (`{"max_length": 48}`).
    """

    path: str
    code: str
    message: str
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Cut what quotes overlong input: whoever sends a megabyte must not get it back with every finding."""
        object.__setattr__(self, "path", _cut(self.path))
        object.__setattr__(self, "message", _cut(self.message))
        cut = {key: _cut(value) if isinstance(value, str) else value for key, value in self.params.items()}
        object.__setattr__(self, "params", cut)

    @property
    def pointer(self) -> str:
        """The JSON pointer (RFC 6901) of `path`: `spec.trainer.env[2].name` is `/spec/trainer/env/2/name`."""
        parts = re.findall(r"\[([^\]]*)\]|([^.\[\]]+)", self.path)
        return "".join("/" + (index or name).strip('"').replace("~", "~0").replace("/", "~1") for index, name in parts)


@dataclass
class Findings:
    """All findings of one check.

    errors hold for every channel; submit_checks also stop a form, REST and dry run; warnings stop nothing.
    """

    errors: list[Finding] = field(default_factory=list)
    submit_checks: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    @property
    def refused(self) -> list[Finding]:
        """Everything that stops a submission by form, REST or dry run."""
        return [*self.errors, *self.submit_checks]

    def extend(self, other: "Findings") -> None:
        """Add the findings of another check."""
        self.errors.extend(other.errors)
        self.submit_checks.extend(other.submit_checks)
        self.warnings.extend(other.warnings)

    def error(self, path: str, code: str, message: str, **params: Any) -> None:
        """Add one error."""
        self.errors.append(Finding(path, code, message, params))


def under(prefix: str, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with `prefix` put before each path."""
    return [Finding(f"{prefix}.{f.path}" if f.path else prefix, f.code, f.message, f.params) for f in findings]
