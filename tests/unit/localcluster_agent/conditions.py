"""Waiting for conditions, and looking at processes, for the tests of this folder."""

import time
from collections.abc import Callable
from typing import TypeVar

import psutil

T = TypeVar("T")
PATIENCE = 60.0


def eventually(look: Callable[[], T], what: str = "") -> T:
    """Return the first true result of `look`; fail after a minute, which no healthy run needs."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never happened: {what or look}")


def carriers(name: str, value: str) -> list[psutil.Process]:
    """Return the living processes with this entry in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found
