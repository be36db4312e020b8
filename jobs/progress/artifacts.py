"""Files that a job hands over to keep: bounded, checked, complete or not there at all."""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from jobs.models import Artifact, TrainJob
from trainui.events.changes import Change, publish

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
MAX_NAME = 200
MAX_PER_JOB = 1000


class ArtifactRefused(ValueError):
    """An artifact that is not kept; the text says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def store_artifact(job: TrainJob, name: str, chunks: Iterable[bytes], max_bytes: int) -> Artifact:
    """Keep a file of a job and return its row. Raises ArtifactRefused for a bad name, too many files, or too many bytes."""
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ArtifactRefused(
            422,
            f"“{name[:80]}” is no artifact name: letters, digits, . _ - and / between parts, {MAX_NAME} characters at most.",
        )
    if Artifact.objects.filter(job=job).exclude(name=name).count() >= MAX_PER_JOB:
        raise ArtifactRefused(422, f"A job may keep {MAX_PER_JOB} artifacts.")
    digest = hashlib.sha256()
    relative = f"{job.pk}/{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    target = Path(settings.ARTIFACTS_DIR) / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        try:
            for chunk in chunks:
                size += len(chunk)
                if size > max_bytes:
                    raise ArtifactRefused(413, f"An artifact may have {max_bytes:,} bytes.")
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, target)
    values = {"size": size, "sha256": digest.hexdigest(), "path": relative, "created_at": timezone.now()}
    kept, _ = Artifact.objects.update_or_create(job=job, name=name, defaults=values)
    publish(Change("job-changed", str(job.project_id), str(job.pk), {"artifact": name}))
    return kept
