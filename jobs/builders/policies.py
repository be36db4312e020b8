"""The registry of policies: a new one is a module and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from . import flux, jax, mpi, plain, torch, torchtune, xgboost
from .containers import Obj
from .counts import set_trainer_counts
from .draft import Draft, Roles


def _nothing(draft: Draft, who: Roles, source: str) -> None:
    """A job whose dependency was dropped needs nothing in its place: its ranks retry until the others answer."""


@dataclass(frozen=True)
class Policy:
    """How one way of running ranks changes a job.

    roles: which replicated jobs do what. set_counts: pods of each. configure: environment, ports, volumes, children.
    owns_command: the policy writes the container's command itself. edge_dropped: called with the replicated job whose
    Ready dependency the gang had to drop. needs_keys: it makes a Secret with key material, needs_ssh_key: an SSH key.
    """

    roles: Callable[[Draft], Roles]
    configure: Callable[[Draft, Roles], None]
    set_counts: Callable[[Draft, Roles], None] = set_trainer_counts
    owns_command: Callable[[Draft], bool] = lambda draft: False
    edge_dropped: Callable[[Draft, Roles, str], None] = _nothing
    needs_keys: bool = False
    needs_ssh_key: bool = False


PLAIN = Policy(plain.roles, plain.configure)

POLICIES: dict[str, Policy] = {
    "torch": Policy(torch.roles, torch.configure, owns_command=torchtune.is_torchtune),
    "mpi": Policy(
        mpi.roles,
        mpi.configure,
        mpi.set_counts,
        edge_dropped=mpi.wait_in_container,
        needs_keys=True,
        needs_ssh_key=True,
    ),
    "jax": Policy(jax.roles, jax.configure),
    "xgboost": Policy(xgboost.roles, xgboost.configure),
    "flux": Policy(flux.roles, flux.configure, needs_keys=True),
}


def policy_of(runtime: Obj) -> Policy:
    """Return the policy of a runtime; without one, plain."""
    ml_policy = (runtime.get("spec") or {}).get("mlPolicy") or {}
    for name, policy in POLICIES.items():
        if ml_policy.get(name) is not None:
            return policy
    return PLAIN
