"""Which gang scheduler a job asks for."""

from typing import get_args

from ..capabilities import GangScheduler
from ..draft import Draft
from ..errors import BuildError

ANNOTATION = "trainui.dev/gang-scheduler"
_SPELLINGS = {"in-tree": "in_tree", "scheduler-plugins": "coscheduling"}


def wanted(draft: Draft) -> GangScheduler | None:
    """Return the gang scheduler that annotation or podGroupPolicy asks for, whether the cluster has it or not.

    Raises BuildError for an unknown name, and for two policies at once.
    """
    policy = (draft.runtime.get("spec") or {}).get("podGroupPolicy") or {}
    named = [name for name in ("coscheduling", "volcano") if policy.get(name) is not None]
    annotation = draft.annotation(ANNOTATION)
    if len(named) > 1 and not annotation:
        message = "A runtime can have one pod group policy: coscheduling or volcano, not both."
        raise BuildError.of("spec.podGroupPolicy", "one_of", message)
    name = _SPELLINGS.get(annotation, annotation) or (named[0] if named else "none")
    if name == "none":
        return None
    if name == "auto":
        return draft.capabilities.auto_gang
    for known in get_args(GangScheduler):
        if known == name:
            scheduler: GangScheduler = known
            return scheduler
    message = f"{annotation} is not a gang scheduler: use in-tree, coscheduling, volcano, auto or none."
    raise BuildError.of(f"metadata.annotations[{ANNOTATION}]", "unknown_gang_scheduler", message)


def is_replaced(draft: Draft) -> bool:
    """Return whether the cluster's own gang scheduler takes the place of one that it does not have (local cluster)."""
    asked = wanted(draft)
    has = draft.capabilities
    return has.replace_gang and has.auto_gang is not None and asked is not None and asked not in has.gang_schedulers


def chosen(draft: Draft) -> GangScheduler | None:
    """Return the gang scheduler of a job: by our annotation, else by the runtime's podGroupPolicy, else none.

    Raises BuildError like `wanted`. A gang scheduler that is missing and not replaced is kept: what then is wrong can be
    seen and said.
    """
    return draft.capabilities.auto_gang if is_replaced(draft) else wanted(draft)
