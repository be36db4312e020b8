"""How far a program is by what it prints, for programs that report nothing: `{"step": 120, "total_steps": 400, "loss": 0.3}`. Pure."""

from collections.abc import Iterable

PERCENT = ("progress_percent", "percent")
TOTALS = ("total_steps", "max_steps", "num_steps")


def percent_of(samples: Iterable[tuple[str, float, int | None]]) -> int | None:
    """Return the percent that the newest of some printed values (name, value, step) tell; None when they tell none."""
    found: int | None = None
    for name, value, step in samples:
        lower = name.lower()
        if lower in PERCENT and 0 <= value <= 100:
            found = int(value)
        elif lower in TOTALS and step is not None and value > 0 and step <= value:
            found = int(100 * step / value)
    return found
