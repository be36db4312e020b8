"""How a phase looks: one glyph each, so that colour is never the only sign."""

from __future__ import annotations

TONES = ("neutral", "info", "active", "warn", "ok", "error", "unknown")

# phase -> (icon, tone when the job's own is not known)
LOOKS: dict[str, tuple[str, str]] = {
    "Creating": ("ellipsis-horizontal-circle", "neutral"),
    "Queued": ("queue-list", "neutral"),
    "Waiting": ("clock", "info"),
    "Starting": ("arrow-up-circle", "info"),
    "Initializing": ("arrow-down-circle", "info"),
    "Running": ("spinner", "active"),
    "Suspending": ("pause", "warn"),
    "Suspended": ("pause-circle", "warn"),
    "Restarting": ("arrow-path", "warn"),
    "Preempted": ("arrow-uturn-left", "warn"),
    "Degraded": ("exclamation-triangle", "warn"),
    "Succeeded": ("check-circle", "ok"),
    "Failed": ("x-circle", "error"),
    "Misconfigured": ("wrench", "error"),
    "Deleting": ("trash", "neutral"),
    "Cancelled": ("no-symbol", "neutral"),
    "Lost": ("question-mark-circle", "unknown"),
}
_TONE_ICONS = {
    "neutral": "minus-circle",
    "info": "information-circle",
    "active": "spinner",
    "warn": "exclamation-triangle",
    "ok": "check-circle",
    "error": "x-circle",
    "unknown": "question-mark-circle",
}


def look(phase: str, tone: str = "") -> tuple[str, str]:
    """Return (icon, tone) of a phase; an unknown phase looks like its tone, an unknown tone like `unknown`."""
    icon, usual = LOOKS.get(phase, ("", "unknown"))
    shown = tone if tone in TONES else usual
    return icon or _TONE_ICONS[shown], shown


def tone_icon(tone: str) -> str:
    """Return the icon that goes with a tone, as notes and messages show it."""
    return _TONE_ICONS.get(tone, _TONE_ICONS["unknown"])
