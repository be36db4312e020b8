"""XGBoost: tracker address, number of workers and index of every node."""

from jobs.spec.accelerators import device_count

from .containers import add_port, index_env, set_env, value_env
from .draft import Draft, Roles
from .plain import roles as roles


def configure(draft: Draft, who: Roles) -> None:
    """Inject the tracker's environment; every accelerator of a node is a worker, a node without any is one.

    Counted from the merged resources (conformance obj-xgboost-011).
    """
    meet = draft.rendezvous(who.ranks[0] if who.ranks else None)
    for target in who.rank_containers:
        workers = draft.nodes * max(1, device_count(target.get("resources")))
        values = [
            ("DMLC_TRACKER_URI", meet.address),
            ("DMLC_TRACKER_PORT", str(meet.port)),
            ("DMLC_NUM_WORKER", str(workers)),
        ]
        set_env(target, [*value_env(values), index_env("DMLC_TASK_ID")], first=True)
        add_port(target, meet.port)
