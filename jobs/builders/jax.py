"""JAX: coordinator, number of processes and index of every node."""

from .containers import add_port, index_env, set_env, value_env
from .draft import Draft, Roles
from .plain import roles as roles


def configure(draft: Draft, who: Roles) -> None:
    """Inject what `jax.distributed.initialize` reads, and open the coordinator's port."""
    meet = draft.rendezvous(who.ranks[0] if who.ranks else None)
    values = [("JAX_COORDINATOR_ADDRESS", f"{meet.address}:{meet.port}"), ("JAX_NUM_PROCESSES", str(draft.nodes))]
    for target in who.rank_containers:
        set_env(target, [*value_env(values), index_env("JAX_PROCESS_ID")], first=True)
        add_port(target, meet.port)
