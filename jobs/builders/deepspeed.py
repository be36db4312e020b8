"""DeepSpeed's launcher: which hosts and slots its filters leave, so that a filter that fits nothing is refused before the job starts."""

from collections.abc import Mapping, Sequence

from .errors import BuildError

LAUNCHER = "deepspeed"
_INCLUDE, _EXCLUDE = ("-i", "--include"), ("-e", "--exclude")


class FilterError(ValueError):
    """A filter that DeepSpeed refuses; the message says why."""


def active(pool: Mapping[str, int], include: str = "", exclude: str = "") -> dict[str, list[int]]:
    """Return the slots that are used, by host, in the order of the pool.

    pool: slots of each host. include, exclude: `host@host:0,2`, hosts with all or some of their slots; one of them at most.
    Raises FilterError for both, and for a host or slot that the pool has not. Source: fixtures, section hostfiles, D-*.
    """
    if include and exclude:
        raise FilterError("include and exclude cannot be used together")
    every = {host: list(range(slots)) for host, slots in pool.items()}
    if include:
        wanted = _parsed(include, every)
        return {host: wanted[host] for host in every if host in wanted}
    taken = _parsed(exclude, every) if exclude else {}
    left = {host: [slot for slot in slots if slot not in taken.get(host, ())] for host, slots in every.items()}
    return {host: slots for host, slots in left.items() if slots}


def check_filters(pool: Mapping[str, int], command: Sequence[str]) -> None:
    """Refuse a `deepspeed` command whose filters name hosts or slots that the job will not have, or leave none.

    Other commands are left alone. Raises BuildError.
    """
    if not command or command[0].rpartition("/")[2] != LAUNCHER:
        return
    try:
        used = active(pool, _option(command, _INCLUDE), _option(command, _EXCLUDE))
    except FilterError as error:
        raise BuildError.of("spec.trainer.args", "invalid_filter", f"deepspeed: {error}.") from error
    if pool and not used:
        raise BuildError.of("spec.trainer.args", "invalid_filter", "deepspeed: the filter leaves no host.")


def _parsed(text: str, every: Mapping[str, list[int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for entry in text.split("@"):
        host, colon, numbers = entry.strip().partition(":")
        if host not in every:
            raise FilterError(f"there is no host “{host}”; hosts are {', '.join(list(every)[:3])} and so on")
        found[host] = sorted({_slot(number, host, every) for number in numbers.split(",")}) if colon else every[host]
    return found


def _slot(text: str, host: str, every: Mapping[str, list[int]]) -> int:
    number = text.strip()
    if not (number.isascii() and number.isdigit()) or int(number) not in every[host]:
        raise FilterError(f"{host} has no slot “{number}”, only 0 to {len(every[host]) - 1}")
    return int(number)


def _option(command: Sequence[str], names: Sequence[str]) -> str:
    """The value of an option before the program's own arguments, "" if it is not given."""
    for place, word in enumerate(command[1:], start=1):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else next(iter(command[place + 1 : place + 2]), "")
        if word.endswith(".py"):
            break
    return ""
