"""When an Indexed Job has succeeded before all its indexes have: successPolicy. Pure."""

from collections.abc import Collection
from typing import Any

from trainui.localcluster.controllers.job.index import parse_indexes

Obj = dict[str, Any]


def met_rule(policy: Obj | None, succeeded: Collection[int], completions: int) -> str | None:
    """Return the message of the first rule that the succeeded indexes meet, or None."""
    if not policy or not succeeded:
        return None
    for number, rule in enumerate(policy.get("rules") or ()):
        if _meets(rule, set(succeeded), completions):
            return f"Matched rules at index {number}"
    return None


def _meets(rule: Obj, succeeded: set[int], completions: int) -> bool:
    count = rule.get("succeededCount")
    if rule.get("succeededIndexes") is not None:
        required = parse_indexes(rule["succeededIndexes"], completions)
        if not required:
            return False
        done = required & succeeded
        return done == required or (count is not None and len(done) >= int(count))
    return count is not None and len(succeeded) >= int(count)
