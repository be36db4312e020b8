"""What watch has seen of one job, read once per reconcile."""

from dataclasses import dataclass, field
from typing import Any

from jobs.models import JobEvent, MirrorObject, TrainJob
from trainui.cluster import kinds

Object = dict[str, Any]


@dataclass
class Mirror:
    """The mirrored objects of a job by `group/Kind` and name."""

    objects: dict[str, dict[str, Object]] = field(default_factory=dict)

    @classmethod
    def of(cls, job: TrainJob) -> "Mirror":
        """Read the mirror of a job: one query."""
        mirror = cls()
        for kind, name, raw in MirrorObject.objects.filter(job=job).values_list("kind", "name", "raw"):
            mirror.objects.setdefault(kind, {})[name] = raw
        return mirror

    def one(self, kind: kinds.Kind, name: str) -> Object | None:
        """Return one object, or None when watch has not seen it."""
        return self.objects.get(kind.key, {}).get(name)

    def all(self, *wanted: kinds.Kind) -> list[Object]:
        """Return every object of some kinds."""
        return [obj for kind in wanted for obj in self.objects.get(kind.key, {}).values()]


def events_of(job: TrainJob, limit: int = 300) -> list[Object]:
    """Return the newest kept events of a job as Kubernetes gave them."""
    return list(JobEvent.objects.filter(job=job).order_by("-last_at", "-id").values_list("raw", flat=True)[:limit])
