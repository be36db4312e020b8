"""Plays one case: its runtime and job in a project of its own, then each action and the state after it."""

import copy
import json
import time
from contextlib import ExitStack
from threading import Lock

from tests.conformance.corpus import Case
from tests.conformance.lifecycle.api import Answer, Api, Json
from tests.conformance.lifecycle.quiet import Calm
from tests.conformance.lifecycle.reading import REPLICATED_JOB, only_if_told, read_state
from trainui.cluster import kinds
from trainui.cluster.kinds import Kind, kind_of

STEP_SECONDS = 3.0  # the corpus counts on it: deadlines and times to live run on
INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAME = "jobset.sigs.k8s.io/jobset-name"
CHILD_KINDS = {
    kind.kind: kind for kind in (kinds.JOB_SET, kinds.JOB, kinds.POD, kinds.POD_GROUP, kinds.CONFIG_MAP, kinds.SECRET)
}
FINISHED = ("Succeeded", "Failed")


class Names:
    """Objects without a namespace exist once: cases that make the same one wait for each other."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: dict[tuple[str, str], Lock] = {}

    def of(self, obj: Json) -> Lock:
        """Return the lock of an object's name."""
        with self._lock:
            return self._locks.setdefault((obj["kind"], obj["metadata"]["name"]), Lock())


class Player:
    """Plays one case in one namespace."""

    def __init__(self, api: Api, calm: Calm, namespace: str, case: Case) -> None:
        self.api = api
        self.calm = calm
        self.namespace = namespace
        self.case = case
        self.trainjob: Json = self._ours(case["trainJob"])
        self.runtime: Json | None = self._ours(case["runtime"]) if case["runtime"] else None
        self.setup: list[Json] = [self._ours(obj) for obj in case.get("setup") or []]
        self.name = self.trainjob["metadata"]["name"]

    def play(self, names: Names) -> Json:
        """Return the result in the shape of the case."""
        shared = [obj for obj in [*self.setup, self.runtime] if obj and not kind_of(obj).namespaced]
        with ExitStack() as held:
            for obj in sorted(shared, key=lambda o: (o["kind"], o["metadata"]["name"])):
                held.enter_context(names.of(obj))
            for obj in [*self.setup, *([self.runtime] if self.runtime else [])]:
                answer = self.api.create(obj)
                assert answer.accepted, answer
            try:
                return {"steps": [self._step(number) for number in range(len(self.case["steps"]))]}
            finally:
                for obj in shared:
                    self.api.delete(kind_of(obj), "", obj["metadata"]["name"])

    def _step(self, number: int) -> Json:
        action, recorded = self.case["steps"][number]["action"], self.case["steps"][number]["state"]
        if action["do"] == "wait":
            time.sleep(action["seconds"])
        begun = time.monotonic()
        result: Json = {"do": action["do"]}
        if answer := getattr(self, f"_{action['do']}")(action):
            result["verdict"] = answer.verdict()
        self.calm.wait(self.namespace)
        time.sleep(max(0.0, begun + STEP_SECONDS - time.monotonic()))
        self.calm.wait(self.namespace)
        asks = json.dumps(self.case.get("must", []))
        told = json.dumps([step["state"].get("look") for step in self.case["steps"]])
        policy = ((self.runtime or {}).get("spec") or {}).get("podGroupPolicy") or {}
        state = read_state(self.api, self.namespace, self.name, next(iter(policy), ""))
        if "look" in recorded or "/look/" in asks:
            only_if_told(state["look"], told + asks)
        else:
            del state["look"]
        return {"action": result, "state": state}

    def _ours(self, obj: Json) -> Json:
        """Return an object of the corpus in the namespace of this case."""
        moved = copy.deepcopy(obj)
        if kind_of(moved).namespaced:
            moved["metadata"]["namespace"] = self.namespace
        return moved

    # The actions, named as in the corpus

    def _create(self, action: Json) -> Answer:
        return self.api.create(self.trainjob)

    def _patch(self, action: Json) -> Answer:
        return self.api.patch(kinds.TRAIN_JOB, self.namespace, self.name, action["patch"])

    def _status(self, action: Json) -> Answer:
        return self.api.patch(kinds.TRAIN_JOB, self.namespace, self.name, {"status": action["status"]}, "status")

    def _wait(self, action: Json) -> None:
        pass

    def _delete(self, action: Json) -> None:
        answer = self.api.delete(kinds.TRAIN_JOB, self.namespace, self.name)
        assert answer.accepted, answer

    def _recreate(self, action: Json) -> Answer:
        self._delete(action)
        return self.api.create(self.trainjob)

    def _deleteRuntime(self, action: Json) -> None:
        assert self.runtime is not None
        answer = self.api.delete(kind_of(self.runtime), self.namespace, self.runtime["metadata"]["name"])
        assert answer.accepted, answer

    def _replaceRuntime(self, action: Json) -> None:
        answer = self.api.replace(self._ours(action["runtime"]))
        assert answer.accepted, answer

    def _deleteChild(self, action: Json) -> None:
        answer = self.api.delete(_child_kind(action), self.namespace, action["name"])
        assert answer.accepted, answer

    def _patchChild(self, action: Json) -> Answer:
        return self.api.patch(_child_kind(action), self.namespace, action["name"], action["patch"])

    def _pods(self, action: Json) -> None:
        for pod in self.api.list(kinds.POD, self.namespace):
            metadata, status = pod["metadata"], pod.get("status") or {}
            index = (metadata.get("annotations") or {}).get(INDEX)
            wanted = action["index"] is None or (index is not None and int(index) in action["index"])
            over = status.get("phase") in FINISHED or metadata.get("deletionTimestamp")
            if metadata["labels"].get(REPLICATED_JOB) == action["job"] and wanted and not over:
                patch = {"status": pod_status(status, action["phase"])}
                answer = self.api.patch(kinds.POD, self.namespace, metadata["name"], patch, "status")
                assert answer.accepted, answer


def pod_status(before: Json, phase: str) -> Json:
    """Return what a machine writes of a pod in a phase: Running also means Ready."""
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
    others = [c for c in before.get("conditions") or [] if c["type"] != "Ready"]
    return {"phase": phase, "conditions": [*others, ready]}


def _child_kind(action: Json) -> Kind:
    return CHILD_KINDS[action["kind"]]
