"""What a TrainJob changes in the containers of its runtime: image, command, arguments, environment, resources."""

import copy

from .containers import set_env
from .draft import Draft, Roles
from .resources import complete_extended, merge_resources


def apply_trainer(draft: Draft, who: Roles, *, keep_command: bool) -> None:
    """Put the trainer's image, command, args and env into its containers; image and env also into the followers'.

    An empty list of command or args clears the runtime's. Without a job that is labelled trainer nothing is applied.
    keep_command: leave the runtime's command, because the policy rewrites it.
    """
    trainer = draft.trainer
    if not draft.with_role("trainer"):
        return
    env = [entry if "valueFrom" in entry else {"value": "", **entry} for entry in trainer.get("env") or []]
    for job in [*who.trainers, *who.followers]:
        target = who.main(job)
        if target is None:
            continue
        if trainer.get("image"):
            target["image"] = trainer["image"]
        set_env(target, env)
        if any(job is other for other in who.followers):
            continue
        if trainer.get("command") is not None and not keep_command:
            target["command"] = copy.copy(trainer["command"])
        if trainer.get("args") is not None:
            target["args"] = copy.copy(trainer["args"])


def apply_resources(draft: Draft, who: Roles) -> None:
    """Merge `resourcesPerNode` into every container that runs ranks, with or without an mlPolicy."""
    wanted = draft.trainer.get("resourcesPerNode")
    for target in who.rank_containers:
        if wanted:
            target["resources"] = merge_resources(target.get("resources"), wanted)
        if target.get("resources"):
            target["resources"] = complete_extended(target["resources"])
