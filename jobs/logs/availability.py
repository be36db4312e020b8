"""What there is to read of a container: attempts, why nothing has come yet, and whether the log outlived its pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FINISHED = ("Succeeded", "Failed", "Cancelled", "Lost")
_PULL = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
_CONFIG = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")


@dataclass(frozen=True, slots=True)
class Availability:
    """What a viewer says above the log.

    waiting, code, message: nothing has come yet, and why. offer_container: an init container whose log can be read meanwhile, and switch_to the one
    to show once it starts. attempts: what was captured, default_attempt the latest. hint: the container crashed before. badge: `archived` when
    the pod is gone. ends: nothing will come any more.
    """

    waiting: bool = False
    code: str = ""
    message: str = ""
    offer_container: str = ""
    switch_to: str = ""
    attempts: tuple[int, ...] = ()
    default_attempt: int | None = None
    hint_code: str | None = None
    hint: str = ""
    badge: str = ""
    ends: bool = False

    @property
    def offer_previous(self) -> bool:
        """Whether there is an earlier attempt to look at."""
        return len(self.attempts) > 1


def availability(pod: Mapping[str, Any] | None, attempts: Sequence[int], phase: str) -> Availability:
    """Return what to say about the main container of a pod.

    pod: {name, phase, initContainerStatuses, containerStatuses} as in a Pod's status, or None if there is no such pod (yet, or any more).
    attempts: restart counts of which a log was captured. phase: of the job.
    """
    captured = tuple(sorted(set(attempts)))
    statuses = list((pod or {}).get("containerStatuses") or [])
    restarts = max((int(status.get("restartCount") or 0) for status in statuses), default=0)
    hint = ""
    if restarts:
        times = "once" if restarts == 1 else f"{restarts} times"
        hint = f"This container crashed before: it was restarted {times} ({restarts}). Earlier attempts have their own log."
    ends = phase in _FINISHED
    if captured:
        badge = "archived" if pod is None else ""
        return Availability(
            attempts=captured, default_attempt=captured[-1], hint_code="CrashedBefore" if hint else None, hint=hint, badge=badge, ends=ends
        )  # fmt: skip
    if ends:
        return Availability(ends=True, message="No log was written, or the pod was gone before it could be read.")
    code, message, offer = _waiting(pod, statuses)
    switch_to = statuses[0]["name"] if offer and statuses else ""
    return Availability(
        waiting=True, code=code, message=message, offer_container=offer, switch_to=switch_to,
        hint_code="CrashedBefore" if hint else None, hint=hint,
    )  # fmt: skip


def _waiting(pod: Mapping[str, Any] | None, statuses: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    """Code, sentence and the init container that can be read meanwhile."""
    if pod is None:
        return "NoPodYet", "There is no pod yet; the log begins when one starts.", ""
    init = list(pod.get("initContainerStatuses") or [])
    for status in init:
        if "running" in (status.get("state") or {}):
            name = status["name"]
            return (
                "InitContainerRunning",
                f"Init container {name} is still running; its log can be read meanwhile.",
                name,
            )
    for status in [*init, *statuses]:
        waiting = (status.get("state") or {}).get("waiting") or {}
        reason, image = waiting.get("reason", ""), status.get("image", "")
        detail = waiting.get("message", "")
        if reason in _PULL:
            return "ImagePullBackOff", f"The image {image} cannot be pulled. {detail}".strip(), ""
        if reason in _CONFIG:
            return "CreateContainerConfigError", f"The container cannot be created. {detail}".strip(), ""
    return "ContainerCreating", "The container is being created.", ""
