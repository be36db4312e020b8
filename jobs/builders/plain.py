"""No policy: the pods run the same command, each with its completion index."""

from .draft import Draft, Roles


def roles(draft: Draft) -> Roles:
    """Return the trainer's jobs: by the ancestor label, and nothing else."""
    trainers = draft.with_role("trainer")
    return Roles(ranks=trainers, trainers=trainers)


def configure(draft: Draft, who: Roles) -> None:
    """Leave the pods as they are: without a policy nothing is injected."""
