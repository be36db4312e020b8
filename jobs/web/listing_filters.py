"""The filters of the jobs list as its page shows them: everything is in the address, and each choice is a link or a select."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from jobs.queries.listing import CHIPS, Count, Filters
from jobs.state import phases
from runtimes.queries import visible_runtimes
from trainui.accounts.models import User
from trainui.problems import Problem

NAMES = ("project", "status", "phase", "q", "runtime", "owner", "since", "until")
RUNTIMES_OFFERED = 200
_DAYS = ((0, "Today"), (6, "Last 7 days"), (29, "Last 30 days"))


@dataclass(frozen=True)
class Option:
    """One choice of a select."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class Select:
    """A select of the filter bar; `on` when something else than everything is chosen."""

    name: str
    label: str
    options: list[Option]
    on: bool


@dataclass(frozen=True)
class Chip:
    """A status to filter by, with how many jobs it stands for ("1,000+" when it was not counted further)."""

    label: str
    url: str
    count: str
    chosen: bool


class Chosen:
    """What an address asks for.

    filters: for the query. problem: why the address cannot be understood, "" when it can; then nothing is filtered.
    """

    def __init__(self, query: QueryDict) -> None:
        self.words = {name: text for name in NAMES if (text := query.get(name, "").replace("\0", "").strip())}
        self.problem = ""
        try:
            self.filters = Filters.from_query(_with_times(query))
        except Problem as problem:
            self.filters, self.problem = Filters(), problem.detail

    def get(self, name: str) -> str:
        """Return one parameter as it stands in the address."""
        return self.words.get(name, "")

    @property
    def narrowed(self) -> bool:
        """Whether anything but the project is chosen."""
        return bool(set(self.words) - {"project"})

    def query(self, **changes: str) -> str:
        """Return the query of the same list with other choices; "" takes a choice away."""
        return urlencode({k: v for k, v in {**self.words, **changes}.items() if v})

    def url(self, **changes: str) -> str:
        """Return the address of the same list with other choices, from its first page."""
        query = self.query(**changes)
        return reverse("jobs") + (f"?{query}" if query else "")

    @property
    def clear_url(self) -> str:
        """The address of the list with nothing but the project chosen."""
        return self.url(**dict.fromkeys(set(self.words) - {"project"}, ""))


def chips(chosen: Chosen, counts: list[Count]) -> list[Chip]:
    """Return the chips with their counts, `All` first."""
    found = [Chip("All", chosen.url(status="", phase=""), "", not chosen.filters.chip)]
    for count in counts:
        number = f"{count.count:,}{'+' if count.capped else ''}"
        url = chosen.url(status=count.chip, phase="")
        found.append(Chip(count.chip, url, number, chosen.filters.chip == count.chip))
    return found


def selects(user: User, chosen: Chosen) -> list[Select]:
    """Return the selects of the filter bar: phase, runtime, owner, and since when."""
    names = CHIPS[chosen.filters.chip] if chosen.filters.chip else tuple(phases.PHASES)
    runtimes = dict.fromkeys(visible_runtimes(user).values_list("name", flat=True)[:RUNTIMES_OFFERED])
    today = timezone.localdate()
    days = [((today - timedelta(days=back)).isoformat(), label) for back, label in _DAYS]
    return [
        _select("phase", "Phase", "Any phase", [(name, name) for name in names], chosen),
        _select("runtime", "Runtime", "Any runtime", [(name, name) for name in runtimes], chosen),
        _select("owner", "Owner", "Everyone’s", [("me", "Mine")], chosen),
        _select("since", "Created", "Any time", days, chosen, "Since {}"),
    ]


def _select(
    name: str, label: str, anything: str, choices: list[tuple[str, str]], chosen: Chosen, other: str = "{}"
) -> Select:
    value = chosen.get(name)
    if value and value not in dict(choices):
        choices = [*choices, (value, other.format(value))]
    options = [Option(v, text, v == value) for v, text in [("", anything), *choices]]
    return Select(name, label, options, bool(value))


def _with_times(query: QueryDict) -> QueryDict:
    """Days as the page has them (2026-03-01) become the times that filters take: the first moment of `since`, the last of `until`."""
    given = QueryDict(mutable=True)
    for name in NAMES:  # PostgreSQL takes no NUL, not even to compare with
        given.setlist(name, [value.replace("\0", "") for value in query.getlist(name)])
    for name, at in (("since", time.min), ("until", time.max)):
        try:
            day = date.fromisoformat(given.get(name, ""))
        except ValueError:
            continue
        given[name] = timezone.make_aware(datetime.combine(day, at)).isoformat()
    return given
