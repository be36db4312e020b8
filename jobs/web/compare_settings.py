"""Settings in which jobs differ, side by side, secrets hidden."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.models import TrainJob
from jobs.spec.masking import MASK
from jobs.web.job.origins import configuration

ABSENT = "—"
MAX_ROWS = 60


@dataclass(frozen=True)
class Setting:
    """One setting that is not the same everywhere. values: one per job, in their order."""

    name: str
    values: list[str]
    masked: bool


def differing(jobs: Sequence[TrainJob]) -> list[Setting]:
    """Return the settings in which jobs differ: their runtimes, parameters and everything in effect."""
    return differences_of([_settings(job) for job in jobs])


def differences_of(settings: Sequence[Mapping[str, str]]) -> list[Setting]:
    """Return what differs between sets of named values, in the order in which names first appear; at most MAX_ROWS. Pure."""
    names = dict.fromkeys(name for values in settings for name in values)
    found = []
    for name in names:
        values = [values.get(name, ABSENT) for values in settings]
        if len(set(values)) > 1:
            found.append(Setting(name, values, any(MASK in value for value in values)))
    return found[:MAX_ROWS]


def _settings(job: TrainJob) -> dict[str, str]:
    found = {"runtime": job.runtime_name}
    for section in configuration(job).sections:
        for row in section.rows:
            name = f"{section.title}: {row.field}" if section.title else row.field
            found[name] = row.value or ABSENT
    return found
