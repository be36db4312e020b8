"""The part of a scheduler's message that counts machines: `0/12 nodes are available: 3 node(s) had ..., 9 Insufficient ...`."""

import re
from dataclasses import dataclass

from jobs.state.explain.model import Reason
from jobs.state.reading import quote

_HEAD = re.compile(r"(?P<fit>\d+)/(?P<total>\d+) nodes are (?:un)?available: ?(?P<body>.*)", re.DOTALL)
_PART = re.compile(r"(?P<nodes>\d+) (?P<text>.+)", re.DOTALL)
_TAINT = re.compile(r"had (?:untolerated )?taint \{(?P<taint>[^}]*)\}")
_RESOURCE = re.compile(r"Insufficient (?P<resource>\S+)")


@dataclass(frozen=True)
class _Kind:
    """A cause that a machine can be ruled out by; `late` orders the filters, `text` says it of several machines."""

    code: str
    pattern: re.Pattern[str]
    late: int
    text: str


def _kind(code: str, pattern: str, late: int, text: str) -> _Kind:
    return _Kind(code, re.compile(pattern), late, text)


# `late`: the filter that runs later has the nearer miss, because such a machine has passed the earlier ones.
_KINDS = (
    _kind("InsufficientResources", r"Insufficient \S+", 4, "have too little {resource} free"),
    _kind("TooManyPods", r"Too many pods|pod number exceeded", 4, "allow no more pods"),
    _kind("HostPortConflict", r"free ports", 3, "have a port in use that the job asks for"),
    _kind(
        "VolumeNodeAffinity",
        r"volume node affinity conflict|PersistentVolume's node affinity|volume zone",
        5,
        "cannot reach the volume",
    ),
    _kind(
        "VolumeNotBound",
        r"available persistent volumes to bind|enough free storage|non-existent pv|unbound immediate",
        5,
        "have no volume for a claim of the job",
    ),
    _kind("TooManyVolumes", r"exceed max volume count", 5, "have as many volumes attached as they may"),
    _kind(
        "PodAffinityMismatch",
        r"pod (?:anti-)?affinity|pods anti-affinity",
        6,
        "do not fit the rules which pods may share a machine",
    ),
    _kind("TopologySpreadMismatch", r"topology spread", 6, "would break the rule how pods are spread"),
    _kind(
        "NodeAffinityMismatch",
        r"node affinity|node selector|requested node name|NodeAffinity",
        2,
        "do not match the node selector of the job",
    ),
    _kind("TaintNotTolerated", r"taint\(s\)|taint \{", 1, "have a taint that the job does not tolerate"),
    _kind("NodeUnschedulable", r"were unschedulable|were not ready|is not ready", 0, "take no new pods (cordoned)"),
    # The local cluster's scheduler: such a machine has passed every filter.
    _kind(
        "QueueAhead",
        r"kept for a job that is ahead",
        7,
        "have room, but it is kept for a job that is ahead in the queue",
    ),
    _kind(
        "GangPermitTimeout",
        r"rejected due to timeout after waiting",
        -1,
        "gave the place up because the rest of the gang did not come in time",
    ),
    _kind("PodGroupNotFound", r"PodGroup not found", -1, "were ruled out because the pod group does not exist"),
    _kind(
        "GangRejected",
        r"optimistic rejection|rejection in Unreserve|rejection in PostFilter",
        -2,
        "were given up because the gang does not fit as a whole",
    ),
)
_LATE = {kind.code: kind.late for kind in _KINDS}


@dataclass(frozen=True)
class Machines:
    """What a message says about machines: how many there are, and why they were ruled out."""

    total: int
    body: str
    reasons: tuple[Reason, ...]

    @property
    def lead(self) -> Reason | None:
        """The reason that leads: the latest filter, and among equals the one on most machines; None if none is understood."""
        known = [reason for reason in self.reasons if reason.code != "Unknown"]
        return max(known, key=lambda reason: (_LATE[reason.code], reason.nodes or 0), default=None)

    @property
    def clause(self) -> str:
        """All parts, the leading one first: `9 of 12 machines have too little cpu free, 3 are cordoned`."""
        lead = self.lead
        rest = sorted(
            (r for r in self.reasons if r is not lead),
            key=lambda r: (-_LATE.get(r.code, -9), -(r.nodes or 0), r.code, r.resource or ""),
        )
        parts: list[str] = []
        for reason in [lead, *rest] if lead else rest:
            said = _say(reason)
            if said:
                parts.append(
                    f"{reason.nodes} of {_machines(self.total)} {said}" if not parts else f"{reason.nodes} {said}"
                )
        return ", ".join(parts)


def read(message: str) -> Machines | None:
    """Return what a message says about machines, or None if it does not count them.

    What follows `preemption:` repeats the same machines and gives no further reasons. A part that is cut off (events end at 1,024
    characters) is left out.
    """
    head = _HEAD.search(message)
    if not head:
        return None
    body, tail, _ = head["body"].partition("preemption:")
    whole = bool(tail) or body.rstrip().endswith((".", "not found", "}")) or ". " in body
    parts = re.split(r", (?=\d+ )", body)
    reasons = []
    for number, part in enumerate(parts):
        cut = number == len(parts) - 1 and not whole
        reason = _reason(part, cut and len(parts) > 1)
        if reason:
            reasons.append(reason)
    return Machines(int(head["total"]), body.strip(), tuple(reasons))


def _reason(part: str, cut: bool) -> Reason | None:
    match = _PART.fullmatch(part.strip())
    if not match:
        return None
    nodes, text = int(match["nodes"]), re.split(r"\.(?:\s|$)", match["text"], maxsplit=1)[0]
    kind = next((kind for kind in _KINDS if kind.pattern.search(text)), None)
    if kind is None or (cut and kind.code == "InsufficientResources"):
        return None if cut else Reason("Unknown", nodes)
    resource, taint = _RESOURCE.search(text), _TAINT.search(text)
    return Reason(
        kind.code,
        nodes,
        resource=resource["resource"].rstrip(".") if resource and kind.code == "InsufficientResources" else None,
        taint=taint["taint"].rstrip(": ") if taint and kind.code == "TaintNotTolerated" else None,
    )


def _machines(total: int) -> str:
    return "1 machine" if total == 1 else f"{total} machines"


def _say(reason: Reason) -> str:
    kind = next((kind for kind in _KINDS if kind.code == reason.code), None)
    if kind is None:
        return ""
    if reason.taint:
        return f"{_number('have', reason.nodes)} the taint {quote(reason.taint)}, which the job does not tolerate"
    text = kind.text.format(resource=quote(reason.resource or "resources"))
    verb, _, rest = text.partition(" ")
    return f"{_number(verb, reason.nodes)} {rest}"


def _number(verb: str, nodes: int | None) -> str:
    """The verb for one machine or several."""
    if nodes != 1:
        return verb
    return {"have": "has", "do": "does", "were": "was", "would": "would", "cannot": "cannot", "gave": "gave"}.get(
        verb, f"{verb}s"
    )
