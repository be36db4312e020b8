"""What keeps a placed pod from running: crash loops, images, configuration, mounts."""

import re
from dataclasses import dataclass
from typing import Any

from jobs.state.pods import Container, Pod
from jobs.state.programs import START_ERRORS, could_not_start
from jobs.state.reading import quote
from jobs.state.view import Slot, View
from jobs.state.wording import after, capital, count, ranks, verb, who

_PULL = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_INVALID = frozenset({"InvalidImageName", "ErrInvalidImageName"})
_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError", *START_ERRORS})
_MOUNT = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})
_SECRET = re.compile(r"\bsecrets?\b", re.IGNORECASE)
_CONFIG_MAP = re.compile(r"\bconfig ?maps?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
    """A problem of one or more pods: its code, the pods that have it, and what fills the gaps of its sentence."""

    code: str
    slots: tuple[Slot, ...]
    gaps: dict[str, Any]


def find(view: View, slots: list[Slot]) -> Problem | None:
    """Return the most telling problem among the placed pods of some slots, or None.

    Order: crash loop, then image, then configuration, then mounts; the lowest rank speaks for all that have the same problem.
    """
    for search in (_crashes, _pulls, _configurations):
        problem = search(view, slots)
        if problem:
            return problem
    return _mounts(view, slots)


def _pods(slots: list[Slot]) -> list[tuple[Slot, Pod]]:
    return [(slot, slot.alive) for slot in slots if slot.alive and slot.alive.placed and not slot.alive.over]


def _with(slots: list[Slot], wanted: "Any") -> list[tuple[Slot, Container]]:
    found = []
    for slot, pod in _pods(slots):
        for container in (*pod.inits, *pod.containers):
            if wanted(container):
                found.append((slot, container))
                break
    return found


def _subject(found: list[tuple[Slot, Container]]) -> str:
    slots = [slot for slot, _ in found]
    if len(slots) == 1:
        return who(slots[0])
    return capital(ranks(slots))


def _problem(view: View, code: str, found: list[tuple[Slot, Container]], **gaps: Any) -> Problem:
    return Problem(
        code, tuple(slot for slot, _ in found), {"who": _subject(found), "namespace": view.namespace, **gaps}
    )


def _crashes(view: View, slots: list[Slot]) -> Problem | None:
    found = _with(slots, lambda container: container.crash_loops)
    if not found:
        return None
    most = max((container for _, container in found), key=lambda c: (c.restarts, c.name))
    last = most.last
    if last and last.reason in START_ERRORS:
        how = could_not_start(last.message)
    elif last and last.exit_code is not None:
        how = f"the last run ended with exit code {last.exit_code}{' (out of memory)' if last.reason == 'OOMKilled' else ''}"
    else:
        how = quote(most.message) or "the program ends right after its start"
    times = f", {count(most.restarts, 'restart')} so far" if most.restarts else ""
    share = f" ({len(found)} of {len(slots)} nodes)" if len(slots) > 1 else ""
    return _problem(
        view, "CrashLoopBackOff", found, crash=verb(len(found), "crashes", "crash"), detail=f"{how}{times}{share}"
    )


def _pulls(view: View, slots: list[Slot]) -> Problem | None:
    for code, reasons in (("InvalidImageName", _INVALID), ("ImagePullBackOff", _PULL)):
        found = _with(
            slots, lambda container, reasons=reasons: container.state == "waiting" and container.reason in reasons
        )
        if found:
            container = found[0][1]
            said = quote(container.message)
            redundant = not said or said.lower().startswith("back-off pulling image")
            return _problem(
                view, code, found, image=container.image or "(not named)", detail="" if redundant else f" ({said})"
            )
    return None


def _configurations(view: View, slots: list[Slot]) -> Problem | None:
    found = _with(slots, lambda container: container.state == "waiting" and container.reason in _CONFIG)
    if not found:
        return None
    container = found[0][1]
    code = "ContainerConfigError"
    if container.reason == "CreateContainerConfigError" and _SECRET.search(container.message):
        code = "MissingSecret"
    elif container.reason == "CreateContainerConfigError" and _CONFIG_MAP.search(container.message):
        code = "MissingConfigMap"
    return _problem(view, code, found, detail=quote(container.message) or container.reason)


def _mounts(view: View, slots: list[Slot]) -> Problem | None:
    """Mount problems are told by events only, of exactly the pods whose containers do not run yet."""
    for slot, pod in _pods(slots):
        if pod.running or any(container.state == "running" for container in pod.containers):
            continue
        said = [event for event in view.events.about("Pod", pod.name, pod.uid) if event.reason in _MOUNT]
        if said:
            detail = quote(said[-1].message)
            return Problem(
                "VolumeMountFailed", (slot,), {"who": who(slot), "namespace": view.namespace, "detail": detail}
            )
    return None


def exit_of(container: Container) -> str:
    """Return how the last run of a container ended, for the end of a sentence, or nothing."""
    last = container.last or container.ended
    if last is None or last.exit_code is None:
        return ""
    return after(f"exit code {last.exit_code}{' (out of memory)' if last.reason == 'OOMKilled' else ''}")
