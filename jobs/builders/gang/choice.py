"""Which gang scheduler a job asks for."""

from typing import get_args

from ..capabilities import GangScheduler
from ..draft import Draft
from ..errors import BuildError

ANNOTATION = "trainui.dev/gang-scheduler"
_SPELLINGS = {"in-tree": "in_tree", "scheduler-plugins": "coscheduling"}


def chosen(draft: Draft) -> GangScheduler | None:
    """Return the gang scheduler of a job: by our annotation, else by the runtime's podGroupPolicy, else none.

    Where the cluster replaces missing gang schedulers (the local cluster), its own takes their place.
    Raises BuildError for an unknown name, and for two policies at once.
    """
    policy = (draft.runtime.get("spec") or {}).get("podGroupPolicy") or {}
    named = [name for name in ("coscheduling", "volcano") if policy.get(name) is not None]
    annotation = draft.annotation(ANNOTATION)
    if len(named) > 1 and not annotation:
        message = "A runtime can have one pod group policy: coscheduling or volcano, not both."
        raise BuildError.of("spec.podGroupPolicy", "one_of", message)
    wanted = _SPELLINGS.get(annotation, annotation) or (named[0] if named else "none")
    if wanted == "none":
        return None
    if wanted == "auto":
        return draft.capabilities.auto_gang
    for known in get_args(GangScheduler):
        if known == wanted:
            missing = known not in draft.capabilities.gang_schedulers and draft.capabilities.replace_gang
            return draft.capabilities.auto_gang if missing else known
    message = f"{annotation} is not a gang scheduler: use in-tree, coscheduling, volcano, auto or none."
    raise BuildError.of(f"metadata.annotations[{ANNOTATION}]", "unknown_gang_scheduler", message)
