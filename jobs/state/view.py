"""The snapshot as the decisions see it: whose pods count, which slots there should be, and what happened when."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs.state.events import Events
from jobs.state.groups import Group, groups, pods_per_job, unknown_last
from jobs.state.lazy import lazy
from jobs.state.pods import Pod, belongs
from jobs.state.reading import Object, canonical, condition, dig, holds, mapping, moment, number, objects, text
from jobs.state.times import newest

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
SUBMISSION = "trainui.dev/submission-id"
# How long controllers may take before their silence is worth a word.
GRACE = timedelta(seconds=60)


@dataclass(frozen=True)
class Slot:
    """One pod that should exist, and the pod that stands for it now."""

    group: Group
    job_index: int
    index: int
    rank: int | None
    pod: Pod | None
    current: bool  # the pod is of this attempt and is not going away

    @lazy
    def alive(self) -> Pod | None:
        """The pod if it is of this attempt, is not going away and has not failed."""
        return self.pod if self.pod and self.current and not self.pod.failed else None


class View:
    """Everything that the steps ask about a snapshot. Built once per observation; nothing in it changes."""

    def __init__(self, snapshot: Object, now: datetime) -> None:
        self.now = now
        self.record = mapping(snapshot, "record")
        self.trainjob: Object = mapping(snapshot, "trainjob")
        self.jobset: Object = self._own_jobset(mapping(snapshot, "jobset"))
        self.jobs = objects(snapshot, "jobs")
        self.podgroups = objects(snapshot, "podgroups")
        self.workloads = objects(snapshot, "workloads")
        self.crds: list[Any] | None = snapshot.get("crds") if isinstance(snapshot.get("crds"), list) else None
        self._snapshot = snapshot

    # whose it is

    @lazy
    def uid(self) -> str:
        return text(self.trainjob, "metadata", "uid")

    def _own_jobset(self, jobset: Object) -> Object:
        """The JobSet, unless it says that a TrainJob with another uid owns it."""
        owners = [owner for owner in objects(jobset, "metadata", "ownerReferences") if owner.get("kind") == "TrainJob"]
        uids = [text(owner, "uid") for owner in owners]
        return {} if self.uid and any(uids) and self.uid not in uids else jobset

    @lazy
    def recorded_uid(self) -> str:
        return text(self.record, "uid")

    @lazy
    def seen(self) -> bool:
        """Whether the TrainJob in the snapshot is this record's, not another one of the same name."""
        if not self.trainjob:
            return False
        if self.recorded_uid and self.uid:
            return self.uid == self.recorded_uid
        ours = text(self.record, "submission_id")
        theirs = text(mapping(self.trainjob, "metadata", "annotations").get(SUBMISSION))
        return self.recorded_uid != "" or not ours or not theirs or ours == theirs

    def _named(self, key: str) -> str:
        held = (text(owner, "metadata", key) for owner in (self.trainjob, self.jobset))
        return next((name for name in held if name), "") or text(self.record, key)

    @lazy
    def name(self) -> str:
        return self._named("name")

    @lazy
    def namespace(self) -> str:
        return self._named("namespace")

    @lazy
    def suspended(self) -> bool:
        return dig(self.trainjob, "spec", "suspend") is True

    @lazy
    def queue(self) -> str:
        """The Kueue queue that the job names, or an empty text."""
        return text(mapping(self.trainjob, "metadata", "labels").get(QUEUE_LABEL))

    # what there should be

    @lazy
    def groups(self) -> tuple[Group, ...]:
        """The expected replicated jobs, in the order of their ranks."""
        return groups(self.record, self.jobset)

    @lazy
    def training(self) -> tuple[Group, ...]:
        """All but the initializers."""
        return tuple(group for group in self.groups if not group.initializer)

    @lazy
    def ranked(self) -> tuple[Group, ...]:
        """Those whose pods run ranks; all of the training where nothing is said to."""
        return tuple(group for group in self.training if group.runs_ranks) or self.training

    @lazy
    def initializers(self) -> tuple[Group, ...]:
        return tuple(group for group in self.groups if group.initializer)

    @lazy
    def gang(self) -> Object:
        return mapping(self.record, "gang")

    @lazy
    def members(self) -> tuple[Group, ...]:
        """Those that must run at the same time: the gang's members, without a gang all that do not start late."""
        named = self.gang.get("members")
        chosen = tuple(group for group in self.training if isinstance(named, list) and group.name in named)
        return chosen or tuple(group for group in self.training if not group.late) or self.training

    @lazy
    def needed(self) -> int:
        """How many members must be there at least."""
        return number(self.gang, "min_member") or sum(group.count for group in self.members)

    # what there is

    @lazy
    def pods(self) -> tuple[Pod, ...]:
        if self.trainjob and not self.seen:
            return ()  # they are those of the job that has taken the name
        uid = text(self.jobset, "metadata", "uid")
        found = [Pod(raw) for raw in objects(self._snapshot, "pods") if belongs(raw, self.namespace, self.name, uid)]
        plain = {(pod.name, pod.uid) for pod in found}
        tie = canonical if len(plain) < len(found) else lambda raw: ""
        return tuple(sorted(found, key=lambda pod: (*_place(pod), pod.attempt or 0, pod.name, pod.uid, tie(pod.raw))))

    @lazy
    def attempt(self) -> int:
        """The restart attempt that counts: JobSet's own number, or a later one that its pods already carry."""
        return max([number(self.jobset, "status", "restarts"), *(pod.attempt or 0 for pod in self.pods)])

    def is_current(self, pod: Pod) -> bool:
        """Return whether a pod is of this attempt and not going away."""
        return not pod.terminating and pod.attempt in (None, self.attempt)

    @lazy
    def slots(self) -> tuple[Slot, ...]:
        """Every pod that should exist: those with ranks by rank, then the others."""
        found: list[Slot] = []
        rank = 0
        for group in self.groups:
            first = group.first_rank if group.first_rank is not None else rank
            ranked = group in self.ranked
            found += self._slots_of(group, first if ranked else None)
            rank = first + group.count if ranked else rank
        return tuple(
            sorted(found, key=lambda slot: (unknown_last(slot.rank), slot.group.name, slot.job_index, slot.index))
        )

    def _slots_of(self, group: Group, first_rank: int | None) -> list[Slot]:
        by_place: dict[tuple[int, int], list[Pod]] = {}
        for pod in self.pods:
            if pod.replicated_job == group.name:
                by_place.setdefault((pod.job_index, pod.index), []).append(pod)
        per_job = pods_per_job(group, self.jobset, [job_index for job_index, _ in by_place])
        found = []
        for ordinal in range(group.count):
            job_index, index = divmod(ordinal, per_job)
            here = by_place.get((job_index, index), [])
            chosen = max(here, key=self._preference) if len(here) > 1 else next(iter(here), None)
            rank = None if first_rank is None else first_rank + ordinal
            found.append(Slot(group, job_index, index, rank, chosen, chosen is not None and self.is_current(chosen)))
        return found

    def _preference(self, pod: Pod) -> tuple[bool, int, bool, bool, str, str]:
        created = pod.created.isoformat() if pod.created else ""
        return (
            self.is_current(pod),
            pod.attempt or 0,
            not pod.terminating,
            not pod.failed,
            created,
            canonical(pod.raw),
        )

    def slots_in(self, groups: Iterable[Group]) -> list[Slot]:
        """Return the slots of some replicated jobs, by rank."""
        names = {group.name for group in groups}
        return [slot for slot in self.slots if slot.group.name in names]

    @lazy
    def member_slots(self) -> list[Slot]:
        return self.slots_in(self.members)

    # what happened when

    @lazy
    def created_at(self) -> datetime | None:
        return moment(self.trainjob, "metadata", "creationTimestamp")

    @lazy
    def resumed_at(self) -> datetime | None:
        """When the job was resumed last, if it ever was."""
        suspended = condition(self.trainjob, "Suspended")
        return moment(suspended, "lastTransitionTime") if suspended.get("status") == "False" else None

    @lazy
    def initialized_at(self) -> datetime | None:
        """When the last initializer finished."""
        names = {group.name for group in self.initializers}
        return newest(*(pod.finished for pod in self.pods if pod.replicated_job in names))

    @lazy
    def began(self) -> datetime | None:
        """Since when the controllers have been free to make what is missing now."""
        return newest(self.created_at, self.resumed_at)

    @lazy
    def scheduled_at(self) -> datetime | None:
        """When the gang was placed, if that was in the run that goes on (before the last resume does not count)."""
        return self._of_this_run(moment(self.record, "scheduled_at"))

    @lazy
    def started_at(self) -> datetime | None:
        """When all ran, if that was in the run that goes on."""
        return self._of_this_run(moment(self.record, "started_at"))

    def _of_this_run(self, time: datetime | None) -> datetime | None:
        return None if time and self.resumed_at and time < self.resumed_at else time

    def age(self, time: datetime | None) -> timedelta:
        """Return how long ago a time was; nothing for one that is unknown or ahead."""
        return max(self.now - time, timedelta(0)) if time else timedelta(0)

    @lazy
    def events(self) -> Events:
        """The events of the job's namespace."""
        return Events(objects(self._snapshot, "events"), self.namespace)

    def is_own_job(self, name: str) -> bool:
        """Return whether a Job is exactly one of this job's: `<name>-<replicated job>-<number>`."""
        return self._own_job_name is not None and self._own_job_name.fullmatch(name) is not None

    @lazy
    def _own_job_name(self) -> re.Pattern[str] | None:
        known = "|".join(re.escape(group.name) for group in self.groups)
        return re.compile(rf"{re.escape(self.name)}-(?:{known})-\d+") if known else None

    @lazy
    def workload(self) -> Object:
        """Kueue's Workload of this job: the one that its uid owns, never one found by name."""
        owned = [item for item in self.workloads if self._owns(item)]
        return max(owned, key=lambda item: (text(item, "metadata", "creationTimestamp"), canonical(item)), default={})

    def _owns(self, obj: Object) -> bool:
        return bool(self.uid) and any(
            owner.get("uid") == self.uid for owner in objects(obj, "metadata", "ownerReferences")
        )


def _place(pod: Pod) -> tuple[str, int, int]:
    return (pod.replicated_job, pod.job_index, pod.index)


def is_true(obj: Object, kind: str) -> bool:
    """Return whether an object has a condition of a type that is True."""
    return holds(condition(obj, kind))
