"""The effective configuration of a job, each value with where it comes from, secrets hidden."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from jobs.models import TrainJob
from jobs.queries.origins import origins_of
from jobs.spec.masking import MASK, mask_arguments, mask_text
from jobs.spec.provenance import DEFAULT, JOB, PARAMETER, PATCH, POLICY, RUNTIME, Origin

_WORDS = {
    DEFAULT: ("Default", "neutral"),
    POLICY: ("Policy", "neutral"),
    RUNTIME: ("Runtime", "info"),
    PARAMETER: ("Parameter", "active"),
    JOB: ("Job", "active"),
    PATCH: ("Patch", "warn"),
}
RESERVED_VALUE = "set for every rank"


@dataclass(frozen=True)
class Row:
    """One value as the table shows it. word, tone: its source; name: which one; path: the field that sets it; overrides: what it replaces."""

    field: str
    value: str
    word: str
    tone: str
    name: str
    path: str
    overrides: str


@dataclass(frozen=True)
class Section:
    """Values about the same pods; title "" is the job as a whole."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Configuration:
    """What the card shows. reserved: names of variables that the policy sets itself. masked: whether something is hidden."""

    sections: list[Section]
    reserved: list[str]
    masked: bool


def configuration(job: TrainJob) -> Configuration:
    """Return the configuration of a job; what its runtime would tell is missing until it has one."""
    return arrange(origins_of(job))


def arrange(origins: Iterable[Origin]) -> Configuration:
    """Return origins in sections by what they are about, the variables that are the policy's own apart."""
    sections: dict[str, list[Row]] = {}
    reserved: list[str] = []
    for origin in origins:
        if origin.source == POLICY and origin.value == RESERVED_VALUE:
            reserved.append(origin.field.removeprefix("env[").removesuffix("]"))
        else:
            sections.setdefault(origin.replicated_job, []).append(_row(origin))
    masked = any(MASK in row.value for rows in sections.values() for row in rows)
    return Configuration([Section(title, rows) for title, rows in sections.items()], reserved, masked)


def shown(value: Any) -> str:
    """Return a value in one line: a command as one would type it, anything else as JSON; secrets are hidden."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(mask_arguments(value))
    if isinstance(value, dict | list):
        return mask_text(orjson.dumps(value).decode())
    return mask_text(str(value)) if isinstance(value, str) else str(value)


def _row(origin: Origin) -> Row:
    word, tone = _WORDS.get(origin.source, (origin.source, "neutral"))
    over = dict.fromkeys(source.split(" ")[0] for source in origin.overrides if source != DEFAULT)
    name = "" if origin.source == RUNTIME else origin.name  # the job has one runtime, and the page's head names it
    return Row(origin.field, shown(origin.value), word, tone, name, origin.path, ", ".join(over))
