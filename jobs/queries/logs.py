"""The archived logs of a job as views read them: opened for one request, closed after it."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings

from jobs.logs.reader import LogReader
from jobs.logs.window import Source
from jobs.models import LogStream, TrainJob


@contextmanager
def open_sources(job: TrainJob, ids: Collection[int] | None = None) -> Iterator[list[Source]]:
    """Open the logs of a job (only those with `ids`, if given) for reading and close them after the block."""
    streams = LogStream.objects.filter(job=job).order_by("order", "attempt", "restart", "pk")
    if ids is not None:
        streams = streams.filter(pk__in=ids)
    with ExitStack() as stack:
        sources = []
        for order, stream in enumerate(streams):
            folder = Path(settings.LOGS_DIR) / stream.folder
            if folder.is_dir():
                reader = stack.enter_context(LogReader(folder))
                sources.append(Source(str(stream.pk), order, stream.rank, label(stream), reader))
        yield sources


def label(stream: LogStream) -> str:
    """Return how a log is called: pod and container, with attempt and restart where there were more than one."""
    again = f" (attempt {stream.attempt + 1})" if stream.attempt else ""
    restarted = f" (restart {stream.restart})" if stream.restart else ""
    return f"{stream.pod}/{stream.container}{again}{restarted}"
