"""Typed settings from the environment: read once at start, each documented, failing with the variable's name."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class BadSetting(SystemExit):
    """A variable cannot be used as it is; ends the process with one line that names it."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"trainui: {name} {problem}")


@dataclass(frozen=True)
class Variable:
    """One documented variable: its name, how to read it, what it does."""

    name: str
    kind: str
    default: str
    help: str


class Env:
    """Reads variables and remembers them, so that `manage.py settings_doc` can list every one."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.environ = os.environ if environ is None else environ
        self.variables: list[Variable] = []

    def _read(
        self, name: str, kind: str, default: T, parse: Callable[[str], T], help: str, shown: str | None = None
    ) -> T:
        self.variables.append(Variable(name, kind, str(default) if shown is None else shown, help))
        raw = self.environ.get(name, "").strip()
        if not raw:
            return default
        try:
            return parse(raw)
        except ValueError as error:
            raise BadSetting(name, f"is {raw!r}: {error}") from None

    def text(self, name: str, default: str, help: str, choices: tuple[str, ...] = (), shown: str | None = None) -> str:
        """Return the text of a variable, one of `choices` if given."""

        def parse(raw: str) -> str:
            if choices and raw not in choices:
                raise ValueError(f"must be one of {', '.join(choices)}")
            return raw

        return self._read(name, "text", default, parse, help, shown)

    def secret(self, name: str, help: str) -> str:
        """Return the text of a variable whose value is never shown; "" when unset."""
        self.variables.append(Variable(name, "secret", "", help))
        return self.environ.get(name, "")

    def flag(self, name: str, default: bool, help: str) -> bool:
        """Return a yes/no variable."""

        def parse(raw: str) -> bool:
            words = {
                "1": True,
                "true": True,
                "yes": True,
                "on": True,
                "0": False,
                "false": False,
                "no": False,
                "off": False,
            }
            if raw.lower() not in words:
                raise ValueError("must be 1 or 0")
            return words[raw.lower()]

        return self._read(name, "yes/no", default, parse, help)

    def integer(self, name: str, default: int, help: str, minimum: int = 0, maximum: int = 2**63) -> int:
        """Return a whole number between `minimum` and `maximum`."""

        def parse(raw: str) -> int:
            try:
                value = int(raw)
            except ValueError:
                raise ValueError("must be a whole number") from None
            if not minimum <= value <= maximum:
                raise ValueError(f"must be from {minimum} to {maximum}")
            return value

        return self._read(name, "number", default, parse, help)

    def names(self, name: str, default: list[str], help: str) -> list[str]:
        """Return a list written with commas."""
        return self._read(
            name, "list", default, lambda raw: [p.strip() for p in raw.split(",") if p.strip()], help, ",".join(default)
        )
