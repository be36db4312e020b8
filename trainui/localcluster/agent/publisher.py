"""Tells the API server the status of one pod, each state once."""

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any

from trainui.localcluster.agent.api import Api, ApiError, Unavailable, pod_path
from trainui.localcluster.agent.model import stamp
from trainui.localcluster.agent.pod_state import PodState
from trainui.localcluster.agent.status import OUR_CONDITIONS, pod_status

log = logging.getLogger(__name__)
Object = dict[str, Any]
AGAIN_SECONDS = 1.0
REFUSED_SECONDS = 10.0


class Told(Enum):
    """What became of an attempt to tell."""

    YES = "yes"  # the API server has the status
    LATER = "later"  # to be tried again at `again_at`
    GONE = "gone"  # the API server has no such pod any more


class Publisher:
    """The last status that was written, and when a failed write is tried again."""

    def __init__(self, api: Api, uid: str) -> None:
        self._api = api
        self._uid = uid
        self._last: Object | None = None
        self.again_at = 0.0

    @property
    def phase(self) -> str | None:
        """The phase that was written last."""
        return None if self._last is None else str(self._last["phase"])

    def publish(self, pod: Object, state: PodState, now: float, terminal: bool) -> Told:
        """Write the status if it has changed."""
        disruption = state.ending.get("message", "") if state.ending.get("reason") == "NodeShutdown" else ""
        started, stamped = stamp(state.start_time), stamp(now)
        known = self._as_written(pod)
        status = pod_status(known, state.containers, started, stamped, now, state.ending, terminal, disruption)
        if status == self._last:
            return Told.YES
        if now < self.again_at:
            return Told.LATER
        try:
            patch: Mapping[str, Any] = {"metadata": {"uid": self._uid}, "status": status}
            self._api.merge_patch(pod_path(pod, "status"), dict(patch))
        except Unavailable:
            self.again_at = now + AGAIN_SECONDS
            return Told.LATER
        except ApiError as error:
            if error.code == 404 or (error.code == 409 and "uid" in error.message.lower()):
                return Told.GONE
            log.warning("pod %s: status refused: %s", self._uid, error)
            self.again_at = now + REFUSED_SECONDS
            return Told.LATER
        self._last = status
        self.again_at = 0.0
        return Told.YES

    def _as_written(self, pod: Object) -> Object:
        """Return the pod with our conditions as last written: what the watch brings back may be older than that."""
        if self._last is None:
            return pod
        theirs = [c for c in (pod.get("status") or {}).get("conditions") or [] if c["type"] not in OUR_CONDITIONS]
        ours = [c for c in self._last["conditions"] if c["type"] in OUR_CONDITIONS]
        return {**pod, "status": {"conditions": theirs + ours}}
