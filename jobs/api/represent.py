"""TrainJobs and what belongs to them as JSON of the REST API."""

import shlex
from dataclasses import asdict
from typing import Any

from jobs.models import Artifact, JobEvent, LogStream, TrainJob
from jobs.queries.compare import Curve
from jobs.queries.job import Series, actions_for, freshness, state_of
from jobs.queries.lineage import successors
from jobs.queries.queue import WAITING, place_of
from jobs.queries.removed import Removed
from jobs.queries.room import largest_gang
from jobs.queries.storage import signs_of, storage_of
from jobs.spec.masking import MASK, is_secret, mask_arguments, mask_object, mask_text
from jobs.spec.provenance import Origin
from trainui.accounts.models import User

Json = dict[str, Any]


def job_summary(job: TrainJob) -> Json:
    """Return what a list shows of a job: columns of its narrow row, nothing else is read."""
    return {
        "id": str(job.pk),
        "url": f"/api/v1/trainjobs/{job.pk}",
        "project": job.project.name,
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
        "owner": job.owner.get_username() if job.owner else None,
        "runtime": {"kind": job.runtime_kind, "name": job.runtime_name},
        "phase": job.phase,
        "reason": {"code": job.code, "tone": job.tone, "sentence": mask_text(job.sentence), "since": _time(job.since)},
        "finished": job.finished,
        "nodes": {"expected": job.nodes_expected, "ready": job.nodes_ready},
        "progress": {
            "percent": job.progress_percent,
            "eta_seconds": job.eta_seconds,
            "estimated": job.eta_estimated,
            "at": _time(job.progress_at),
        },
        "created_at": _time(job.created_at),
        "started_at": _time(job.started_at),
        "finished_at": _time(job.finished_at),
        "in_cluster": job.live and job.uid is not None,
        "kept": job.kept,
        "stalled_since": _time(job.stalled_since) if not job.finished else None,
        "origin": _origin(job),
    }


def job_full(user: User, job: TrainJob) -> Json:
    """Return one job with its gang, its cause of failure, its parameters and what may be done to it now."""
    state = state_of(job)
    alive_at, problem = freshness()
    return job_summary(job) | {
        "counts": state.get("counts") or {},
        "gang": state.get("gang"),
        "startup": state.get("startup") or [],
        "place": _place(job),
        "largest_gang": _largest(job),
        "cause": state.get("cause"),
        "conditions": state.get("conditions") or [],
        "jobs_status": state.get("jobs_status") or [],
        "blueprint": job.detail.blueprint or None,
        "parameters": {name: masked_parameter(name, value) for name, value in job.detail.parameters.items()},
        "trainer_status": mask_object(job.detail.trainer_status)[0] if job.detail.trainer_status else None,
        "suspend_requested": job.desired_suspend,
        "cancel": _cancel(job),
        "actions": actions_for(user, job),
        "stalled": _stalled(job),
        "storage": _storage(job),
        "successors": [
            {"relation": s.origin_relation, "id": str(s.pk), "name": s.name, "phase": s.phase}
            for s in successors(user, job)
        ],
        "data_age": {
            "observed_at": _time(job.observed_at),
            "watch_alive_at": _time(alive_at),
            "problem": problem or None,
        },
        "links": {
            name: f"/api/v1/trainjobs/{job.pk}/{name}"
            for name in ("nodes", "events", "logs", "metrics", "artifacts", "manifest", "origins")
        },
    }


def _place(job: TrainJob) -> Json | None:
    place = place_of(job)
    return place.as_dict() if place else None


def _largest(job: TrainJob) -> Json | None:
    """The largest gang of the job's shape that fits now, while it waits."""
    fit = largest_gang(job) if job.phase in WAITING else None
    return {"pods": fit.pods, "of": fit.wanted, "machines": fit.machines, "replicated_job": fit.name} if fit else None


def masked_parameter(name: str, value: Any) -> Any:
    """Return a parameter's value as it may be shown, in every form in which it may be given: maps, lists, pairs, lines, command lines."""
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and "value" in value:
            return value | {"value": masked_parameter(value["name"], value["value"])}
        return {key: masked_parameter(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if len(value) == 2 and isinstance(value[0], str) and is_secret(value[0], value[1]):
            return [value[0], MASK]
        return [masked_parameter(name, item) for item in mask_arguments(list(value))]
    return _masked_text(name, value) if isinstance(value, str) else value


def _masked_text(name: str, text: str) -> str:
    if is_secret(name, text):
        return MASK
    lines = []
    for line in text.split("\n"):
        variable, equals, value = line.partition("=")
        lines.append(f"{variable}={MASK}" if equals and is_secret(variable.strip(), value) else _masked_words(line))
    return mask_text("\n".join(lines))


def _masked_words(line: str) -> str:
    try:
        words = shlex.split(line)
    except ValueError:  # no command line
        return line
    shown = mask_arguments(words)
    return shlex.join(shown) if shown != words else line


def _origin(job: TrainJob) -> Json | None:
    if not job.origin_relation:
        return None
    origin_id = str(job.origin_id) if job.origin_id else None
    return {"relation": job.origin_relation, "id": origin_id, "name": job.origin_name}


def _stalled(job: TrainJob) -> Json | None:
    signs = signs_of(job)
    return {name: _time(at) for name, at in vars(signs).items()} if signs else None


def _storage(job: TrainJob) -> Json:
    stored = storage_of(job)
    return {name: value for name, value in vars(stored).items() if name != "kept"} | {
        "kept_until": _time(stored.kept_until)
    }


def removed(row: Removed) -> Json:
    """Return what is remembered of a removed job."""
    return {
        "id": row.id,
        "project": row.project,
        "name": row.name,
        "owner": row.owner or None,
        "runtime": row.runtime,
        "phase": row.phase,
        "created_at": _time(row.created_at),
        "finished_at": _time(row.finished_at),
        "removed_at": _time(row.removed_at),
        "why": "retention" if row.expired else "deleted",
        "by": row.by or None,
        "reason": row.reason,
    }


def _cancel(job: TrainJob) -> Json | None:
    if job.cancel_requested_at is None:
        return None
    by = job.cancel_requested_by.get_username() if job.cancel_requested_by else None
    return {"requested_at": _time(job.cancel_requested_at), "by": by, "reason": job.cancel_reason}


def event(row: JobEvent) -> Json:
    """Return a kept event."""
    return {
        "id": row.pk,
        "type": row.type,
        "reason": row.reason,
        "message": mask_text(row.message),
        "object": {"kind": row.object_kind, "name": row.object_name},
        "source": row.source,
        "count": row.count,
        "first_at": _time(row.first_at),
        "last_at": _time(row.last_at),
    }


def origin(found: Origin) -> Json:
    """Return where one effective value comes from; what looks secret in it is hidden."""
    return asdict(found) | {"value": mask_object({"value": found.value})[0]["value"]}


def log_stream(row: LogStream) -> Json:
    """Return what is archived of one container."""
    return {
        "id": row.pk,
        "pod": row.pod,
        "container": row.container,
        "replicated_job": row.replicated_job,
        "rank": row.rank,
        "attempt": row.attempt,
        "restart": row.restart,
        "bytes": row.bytes,
        "lines": row.lines,
        "first_at": _time(row.first_at),
        "last_at": _time(row.last_at),
        "complete": row.complete,
        "problem": row.problem or None,
    }


def series(row: Series) -> Json:
    """Return one metric over time; times are RFC 3339-free epoch seconds, as charts want them."""
    points = [[t, v] for t, v in zip(row.times, row.values, strict=True)]
    return {
        "name": row.name,
        "last": row.last,
        "last_at": _time(row.last_at),
        "lowest": row.best_low,
        "highest": row.best_high,
        "points": points,
    }


def curve(found: Curve) -> Json:
    """Return one metric of one job for a comparison; times are epoch seconds, relative ones count from `began`."""
    row, job = found.series, found.job
    return {
        "id": str(job.pk),
        "name": job.name,
        "project": job.project.name,
        "phase": job.phase,
        "began": found.began,
        "last": row.last if row else None,
        "last_at": _time(row.last_at) if row else None,
        "last_step": row.last_step if row else None,
        "lowest": row.lowest if row else None,
        "highest": row.highest if row else None,
        "values": row.seen if row else 0,
        "points": [[p.at, p.value, p.step] for p in found.points],
    }


def artifact(row: Artifact) -> Json:
    """Return a kept file."""
    url = f"/api/v1/trainjobs/{row.job_id}/artifacts/{row.name}"
    return {"name": row.name, "size": row.size, "sha256": row.sha256, "created_at": _time(row.created_at), "url": url}


def time_text(at: Any) -> str | None:
    """Return a time as REST says it."""
    return _time(at)


def _time(at: Any) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
