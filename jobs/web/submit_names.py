"""What the steps of a submission hand on to each other: a name to begin with, and a key that makes it happen once."""

import hashlib
import re
import secrets
from collections.abc import Iterable

import orjson

from jobs.models import TrainJob

_TRIED = 50
_PLACES = 50
_NUMBER = re.compile(r"-(\d{1,4})\Z")
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")


def free_name(base: str, namespaces: Iterable[str], room: int) -> str:
    """Return a name for a new job: `base-1`, `base-2`, ... whichever is the first that no job has, cut so that it fits.

    base: what the job is about; if it ends with a number, counting goes on from there. namespaces: where the job may go. room: the longest
    possible name.
    """
    found = _NUMBER.search(base)
    first = int(found[1]) + 1 if found else 1
    stem = _NUMBER.sub("", base.replace(".", "-"))[: max(room - 5, 1)].strip("-") or "job"
    stem = stem if stem[0].isalpha() else f"job-{stem}"[: max(room - 5, 1)]
    names = [f"{stem}-{number}" for number in range(first, first + _TRIED)]
    jobs = TrainJob.objects.filter(namespace__in=list(namespaces)[:_PLACES], name__in=names, live=True)
    taken = set(jobs.values_list("name", flat=True))
    return next((name for name in names if name not in taken), f"{stem}-{secrets.token_hex(2)}")


def new_nonce() -> str:
    """Return the one-time part of a submission's key, made when its form is opened."""
    return secrets.token_urlsafe(18)


def kept_nonce(text: str) -> str:
    """Return the nonce that a form sent, or a new one if it sent none of ours."""
    return text if _NONCE.fullmatch(text) else new_nonce()


def submission_key(nonce: str, content: Iterable[tuple[str, str]]) -> str:
    """Return the key of a submission: the same form sent twice is one job, the form changed after going back is another."""
    digest = hashlib.sha256(orjson.dumps(sorted(content))).hexdigest()
    return f"form:{nonce}:{digest}"
