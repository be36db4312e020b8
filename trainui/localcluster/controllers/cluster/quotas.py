"""ResourceQuota status: what of a quota is used. Pods are refused at admission; here it is only shown."""

from collections.abc import Iterable
from typing import Any, ClassVar

from trainui.localcluster.admission.pods import namespace_usage
from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Plan, Update
from trainui.localcluster.controllers.meta import namespace_of, pod_ended, spec_of, status_of
from trainui.localcluster.controllers.shell import Controller
from trainui.localcluster.quantities import format_quantity

Obj = dict[str, Any]


class QuotaController(Controller):
    """Keys are namespaces."""

    name: ClassVar[str] = "resourcequota-controller"
    kinds: ClassVar[frozenset[str]] = frozenset({"ResourceQuota", "Pod"})

    def keys(self, change: Change) -> Iterable[str]:
        """The namespace of a quota, and of a pod that has come, ended or gone."""
        if change.kind == "Pod" and change.type == "MODIFIED":
            before = change.previous
            if before is not None and pod_ended(before) == pod_ended(change.obj):
                return []
        return [namespace_of(change.obj)]

    def all_keys(self) -> Iterable[str]:
        """Every namespace with a quota."""
        return dict.fromkeys(namespace_of(quota) for quota in self.store.list("ResourceQuota")[0])

    def reconcile(self, key: str) -> float | None:
        """Write the usage of one namespace into its quotas."""
        quotas = self.store.list("ResourceQuota", key)[0]
        if not quotas:
            return None
        usage = namespace_usage(self.store, key)
        for quota in quotas:
            hard = spec_of(quota).get("hard") or {}
            used = {name: format_quantity(usage[name]) if name in usage else "0" for name in hard}
            status = {**status_of(quota), "hard": hard, "used": used}
            if status != status_of(quota):
                self.carry_out(Plan([Update("ResourceQuota", {**quota, "status": status}, "status")]))
        return None
