"""Completion indexes: how they are written down, which pod has which, and which are still to be done. Pure."""

from collections.abc import Collection, Iterable
from typing import Any

from trainui.localcluster.controllers.meta import annotations_of

Obj = dict[str, Any]

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def completion_index(pod: Obj) -> int | None:
    """Return the completion index of a pod, or None when it has none that can be read."""
    text = annotations_of(pod).get(COMPLETION_INDEX, "")
    return int(text) if text.isdigit() else None


def valid_index(pod: Obj, completions: int) -> int | None:
    """Return the completion index of a pod when it is one of 0 to completions-1, else None."""
    index = completion_index(pod)
    return index if index is not None and index < completions else None


def parse_indexes(text: str | None, completions: int) -> set[int]:
    """Return the indexes that a text such as `0,2-4` names, without those of completions and above; skip what cannot be read."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    """Return indexes as Kubernetes writes them: `0,2-4`; two neighbours stay apart (`0,1`)."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = []
    for run in runs:
        if len(run) > 2:
            parts.append(f"{run[0]}-{run[-1]}")
        else:
            parts.extend(str(index) for index in run)
    return ",".join(parts)


def first_pending(taken: Collection[int], count: int, completions: int) -> list[int]:
    """Return the lowest `count` indexes that are not taken."""
    found: list[int] = []
    for index in range(completions):
        if len(found) >= count:
            break
        if index not in taken:
            found.append(index)
    return found
