"""A local cluster for tests: the real store, admission and controllers; the test plays the machines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from trainui.localcluster.admission import admit
from trainui.localcluster.controllers import start
from trainui.localcluster.objects import timestamp
from trainui.localcluster.store import Store

Obj = dict[str, Any]
T = TypeVar("T")

NS = "default"
PATIENCE = 30.0
"""Seconds after which a condition that does not come true is a failure; never waited for when all is well."""
QUIET_TURNS = 60
"""Turns of the event loop without a write after which the controllers have nothing left to do."""


class Cluster:
    """What a scenario works with."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # What there is

    def all(self, kind: str) -> list[Obj]:
        return self.store.list(kind)[0]

    def get(self, kind: str, name: str) -> Obj | None:
        return self.store.get(kind, NS, name)

    def status(self, kind: str, name: str) -> Obj:
        return (self.get(kind, name) or {}).get("status") or {}

    def conditions(self, kind: str, name: str) -> dict[str, tuple[str, str]]:
        found = self.status(kind, name).get("conditions") or ()
        return {condition["type"]: (condition["status"], condition.get("reason", "")) for condition in found}

    def is_true(self, kind: str, name: str, condition: str) -> bool:
        return self.conditions(kind, name).get(condition, ("", ""))[0] == "True"

    def pods(self, job: str = "", phase: str = "") -> list[Obj]:
        found = self.all("Pod")
        if job:
            found = [pod for pod in found if (pod["metadata"].get("labels") or {}).get("job-name") == job]
        return [pod for pod in found if not phase or pod["status"]["phase"] == phase]

    def live(self, job: str = "") -> list[Obj]:
        ended = ("Succeeded", "Failed")
        return [
            p
            for p in self.pods(job)
            if p["status"]["phase"] not in ended and not p["metadata"].get("deletionTimestamp")
        ]

    def events(self, kind: str, name: str) -> list[tuple[str, str]]:
        found = [
            e for e in self.all("Event") if (e["involvedObject"]["kind"], e["involvedObject"]["name"]) == (kind, name)
        ]
        return [(event["reason"], event["message"]) for event in found]

    # What happens to it

    def machine(self, name: str, kind: str = "status", labels: Obj | None = None, **allocatable: str) -> Obj:
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"} | {
            k.replace("_", "/"): v for k, v in allocatable.items()
        }
        metadata = {"name": name, "labels": {"trainui.dev/machine-kind": kind, **(labels or {})}}
        ready = {"type": "Ready", "status": "True"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
        return self.store.create("Node", {"metadata": metadata, "status": status})

    def create(self, kind: str, obj: Obj) -> Obj:
        return self.store.create(kind, obj)

    def patch(self, kind: str, name: str, patch: Obj, subresource: str | None = None) -> Obj:
        return self.store.patch(kind, NS, name, patch, subresource)

    def set_phase(self, pods: list[Obj], phase: str, code: int | None = None) -> None:
        for pod in pods:
            ready = "True" if phase == "Running" else "False"
            status: Obj = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
            if code is not None:
                state = {"terminated": {"exitCode": code, "finishedAt": timestamp(self.store.clock())}}
                status["containerStatuses"] = [{"name": "c", "restartCount": 0, "state": state}]
            self.patch("Pod", pod["metadata"]["name"], {"status": status}, "status")

    # Waiting

    async def until(self, condition: Callable[[], T], what: str = "") -> T:
        """Wait until a condition holds, looking after every write, and return its value."""
        subscription = self.store.subscribe()
        try:
            async with asyncio.timeout(PATIENCE):
                while not (value := condition()):
                    await subscription.wait()
                    subscription.take()
                return value
        except TimeoutError:
            raise AssertionError(f"never: {what or condition}") from None
        finally:
            subscription.close()

    async def settle(self) -> None:
        """Wait until the controllers have nothing left to do (timers apart)."""
        quiet, version = 0, self.store.version
        async with asyncio.timeout(PATIENCE):
            while quiet < QUIET_TURNS:
                await asyncio.sleep(0)
                quiet = quiet + 1 if self.store.version == version else 0
                version = self.store.version


def run(
    scenario: Callable[[Cluster], Awaitable[None]], backoff: float = 0.01, clock: Callable[[], float] | None = None
) -> None:
    """Run a scenario against a fresh cluster with all controllers."""

    async def main() -> None:
        store = Store(":memory:", admit, clock) if clock else Store(":memory:", admit)
        controllers = asyncio.create_task(start(store, backoff))
        try:
            await scenario(Cluster(store))
        finally:
            controllers.cancel()
            await asyncio.gather(controllers, return_exceptions=True)
            store.close()

    asyncio.run(main())


def pod_template(cpu: str = "1", **spec: Any) -> Obj:
    container = {"name": "c", "image": "registry.example/app:1", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def rjob(name: str, pods: int = 1, replicas: int = 1, cpu: str = "1", pod: Obj | None = None, **fields: Any) -> Obj:
    """A replicated job; fields named like those of a Job's spec go there, the others to the replicated job."""
    of_rjob = {key: fields.pop(key) for key in ("dependsOn", "groupName") if key in fields}
    spec = {
        "parallelism": pods,
        "completions": pods,
        "backoffLimit": 0,
        "template": pod_template(cpu, **(pod or {})),
        **fields,
    }
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **of_rjob}


def jobset(name: str, *rjobs: Obj, **spec: Any) -> Obj:
    return {"metadata": {"name": name, "namespace": NS}, "spec": {"replicatedJobs": list(rjobs), **spec}}


def pod_group(name: str, minimum: int, **spec: Any) -> Obj:
    policy = {"gang": {"minCount": minimum}}
    return {"metadata": {"name": name, "namespace": NS}, "spec": {"schedulingPolicy": policy, **spec}}


def gang(group: str) -> Obj:
    return {"schedulingGroup": {"podGroupName": group}}
