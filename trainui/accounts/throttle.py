"""Against guessing passwords: failed sign-ins are counted per name and address, in the database that all web processes share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from trainui.accounts.models import SignInAttempt

WINDOW = timedelta(minutes=15)
# One person who forgot their password; many machines that guess for one name (higher, as it also locks out its owner);
# one machine that tries many names (higher still, as people share addresses).
PER_NAME_AND_ADDRESS = 10
PER_NAME = 30
PER_ADDRESS = 60


@dataclass(frozen=True)
class Verdict:
    """Whether a password may be tried, else after how many seconds."""

    allowed: bool
    retry_after: int = 0


def begin(username: str, address: str) -> Verdict:
    """Count an attempt as failed until `forgive`, and say whether its password may be looked at.

    It is counted, and visible to the other processes, before the count is read: attempts at the same time cannot all slip
    through. A refused attempt is not kept: waiting helps, whatever others try meanwhile. The address is that of the
    connection; behind a proxy the server must be told to trust the proxy's header (uvicorn --forwarded-allow-ips).
    """
    now = timezone.now()
    hashed = _hash(username)
    SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
    attempt = SignInAttempt.objects.create(username_hash=hashed, address=address[:45], at=now)
    wait = max(_wait(which, limit, now) for which, limit in _limits(hashed, address[:45]))
    if wait:
        attempt.delete()
    return Verdict(not wait, wait)


def _limits(hashed: str, address: str) -> list[tuple[Q, int]]:
    name, place = Q(username_hash=hashed), Q(address=address)
    return [(name & place, PER_NAME_AND_ADDRESS), (name, PER_NAME), (place, PER_ADDRESS)]


def _wait(which: Q, limit: int, now: datetime) -> int:
    """Return the seconds until fewer than `limit` attempts remain in the window, 0 when this one is within it."""
    newest = list(SignInAttempt.objects.filter(which).order_by("-at", "-id").values_list("at", flat=True)[: limit + 1])
    if len(newest) <= limit:
        return 0
    return max(1, int((newest[-1] + WINDOW - now).total_seconds()) + 1)


def forgive(username: str, address: str) -> None:
    """Forget the failures of this name at this address: its owner is in."""
    SignInAttempt.objects.filter(username_hash=_hash(username), address=address[:45]).delete()


def _hash(username: str) -> str:
    return salted_hmac("trainui.sign-in", username.strip().casefold(), algorithm="sha256").hexdigest()
