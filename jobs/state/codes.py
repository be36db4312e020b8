"""The reason codes: each belongs to a phase and has a tone, a short title and the frame of its sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.state import phases
from jobs.state.model import Cause, Verdict
from jobs.state.phases import PHASES


@dataclass(frozen=True)
class Code:
    """Why a job is in a phase; `sentence` has named gaps that the step which decides must fill."""

    phase: str
    name: str
    tone: str
    title: str
    sentence: str


CODES: dict[tuple[str, str], Code] = {}


def _add(phase: str, name: str, title: str, sentence: str, tone: str = "") -> None:
    CODES[phase, name] = Code(phase, name, tone or PHASES[phase].tone, title, sentence)


def say(
    phase: str,
    code: str,
    gaps: Mapping[str, Any] | None = None,
    *,
    since: datetime | None = None,
    recheck: datetime | None = None,
    cause: Cause | None = None,
    **more: Any,
) -> Verdict:
    """Return the verdict for a registered code, its sentence filled in from `gaps` and `more`.

    Raises KeyError for a code that is not registered or a gap that is not filled: both are faults of the step that decides.
    """
    known = CODES[phase, code]
    sentence = known.sentence.format_map({**(gaps or {}), **more})
    return Verdict(phase, code, known.tone, sentence, since, recheck, cause)


def title(phase: str, code: str) -> str:
    """Return the short title of a code, or the code itself when it is not known."""
    known = CODES.get((phase, code))
    return known.title if known else code


def tone(phase: str, code: str) -> str:
    """Return the tone of a code, that of its phase if the code is not known, `unknown` without either."""
    known = CODES.get((phase, code))
    if known:
        return known.tone
    return PHASES[phase].tone if phase in PHASES else "unknown"


_C = phases.CREATING
_add(_C, "AwaitingCluster", "On its way to the cluster", "Accepted {age} ago and kept here: {state}")
_add(
    _C,
    "AwaitingController",
    "Waiting for the controller",
    "The TrainJob is in the cluster; its pods are being prepared.",
)
_add(
    _C,
    "ControllerSilent",
    "Controller silent",
    "No controller has reacted to the TrainJob for {age}. Check that what reconciles it is running ({who}).",
    "warn",
)
_add(_C, "CreatingPods", "Creating pods", "{created}.")
_add(_C, "Resuming", "Resuming", "Resumed{age}; its pods are being created again.")
_add(
    _C,
    "Admitted",
    "Admitted by the queue",
    "Queue {queue} has admitted the job; it starts as soon as Kueue lifts the hold.",
)

_Q = phases.QUEUED
_add(_Q, "WaitingForQuota", "Waiting for quota", "Waits in queue {queue}: {detail}.")
_add(
    _Q,
    "ExceedsMaxQuota",
    "Larger than the queue",
    "Queue {queue} can never hold this job: {detail}. Make it smaller, or choose another queue.",
    "warn",
)
_add(_Q, "NoMatchingFlavor", "No matching flavor", "No flavor of queue {queue} fits this job: {detail}.", "warn")
_add(_Q, "QueueStopped", "Queue stopped", "Queue {queue} admits nothing at the moment: {detail}.", "warn")
_add(_Q, "WaitingForPreemption", "Waiting for preemption", "Waits in queue {queue}: {detail}.")
_add(_Q, "AdmissionCheckPending", "Admission check open", "Queue {queue} {detail}.")
_add(_Q, "PendingEvaluation", "Waiting for the queue", "Queue {queue} has not admitted this job yet{detail}.")
_add(_Q, "AwaitingKueue", "Waiting for Kueue", "Handed to queue {queue}{age}; Kueue has not taken it up yet.")
_add(_Q, "VolcanoQueue", "In Volcano's queue", "Waits in Volcano's queue {queue}{detail}.")

_W = phases.WAITING
_add(
    _W,
    "GangIncomplete",
    "Gang not placed",
    "{placed}{together}{detail}.",
)
_add(_W, "Unschedulable", "No machine fits", "{some} cannot be placed{detail}.")
_add(_W, "PodsNotCreated", "Pods not created", "{created} after {age}{detail}.", "warn")
_add(_W, "SchedulingGated", "Held by a gate", "{some} {are} held back by a scheduling gate{detail}.")
_add(
    _W,
    "NamespaceQuotaExceeded",
    "Quota of the project exceeded",
    "{created}: {detail}.",
    "warn",
)
_add(_W, "AdmissionDenied", "Pods refused", "{created}: {detail}.", "warn")
_add(
    _W,
    "ServiceAccountMissing",
    "Service account missing",
    "{created}: {detail}.",
    "warn",
)
_add(_W, "PvcNotFound", "Volume claim missing", "{some} cannot be placed: {detail}.", "warn")
_add(_W, "VolumeNotBound", "Volume not bound", "{some} cannot be placed: {detail}.")

_S = phases.STARTING
_add(
    _S,
    "ContainersCreating",
    "Containers being created",
    "{summary}.",
)
_add(
    _S,
    "InitContainers",
    "Init containers run",
    "{summary} init container {detail}.",
)
_add(_S, "ReadinessPending", "Not all ready", "{summary}.")
_add(_S, "LauncherPending", "Launcher to come", "{detail}.")

_PROBLEMS = (
    (
        "ImagePullBackOff",
        "Image cannot be pulled",
        "{who} cannot pull image {image}{detail}. Check its name, tag and pull secret.",
    ),
    ("InvalidImageName", "Image name invalid", "{who}: {image} is no valid image name{detail}."),
    (
        "MissingSecret",
        "Secret missing",
        "{who} cannot start: {detail}. Create it in namespace {namespace}, or correct the reference.",
    ),
    (
        "MissingConfigMap",
        "ConfigMap missing",
        "{who} cannot start: {detail}. Create it in namespace {namespace}, or correct the reference.",
    ),
    ("ContainerConfigError", "Container cannot be set up", "{who} cannot start: {detail}."),
    ("VolumeMountFailed", "Volume cannot be mounted", "{who} cannot mount a volume: {detail}."),
    ("CrashLoopBackOff", "Crashes again and again", "{who} {crash} at start: {detail}. Read the log for the cause."),
)
for _name, _title, _sentence in _PROBLEMS:
    _add(phases.STARTING, _name, _title, _sentence, "warn")
    if _name != "CrashLoopBackOff":  # an initializer that crashes has a code of its own
        _add(phases.INITIALIZING, _name, _title, _sentence, "warn")

_I = phases.INITIALIZING
_add(_I, "InitializerStarting", "Initializer starting", "{who} {are} starting; {needed} {follow} when that is done.")
_add(_I, "InitializerRunning", "Initializer running", "{who} {are} running; {needed} {follow} when that is done.")
_add(_I, "InitializerRetrying", "Initializer retried", "{who} failed and is tried again{detail}.", "warn")
_add(
    _I,
    "InitializerCrashLoop",
    "Initializer crashes",
    "{who} {crash} again and again: {detail}. Read the log for the cause.",
    "warn",
)

_R = phases.RUNNING
_add(_R, "AllReady", "Running", "{summary}")
_add(
    _R,
    "OptionalPodsMissing",
    "Running without all nodes",
    "{running} of {expected} nodes {run}, {needed} {are} enough; {missing} more {wait}{detail}.",
)
_add(_R, "Finishing", "Finishing", "{summary}; the job is about to be marked complete.")

_add(
    phases.SUSPENDING,
    "PodsTerminating",
    "Suspending",
    "{pods} being stopped because the job was suspended{by}.",
)
_add(
    phases.SUSPENDED,
    "SuspendedByUser",
    "Suspended",
    "Suspended by {by}; it keeps its place in the list and holds no resources. Resume it to go on.",
)
_add(
    phases.SUSPENDED,
    "WorkloadDeactivated",
    "Held in the queue",
    "Its Workload in queue {queue} is not active{detail}. Resume the job to queue it again.",
)
_add(
    phases.RESTARTING,
    "JobSetRestart",
    "Restarting",
    "Restart {restart}{limit}{because}: {created} for the new attempt.",
)

_P = phases.PREEMPTED
_add(_P, "PreemptedByKueue", "Preempted", "{detail} (queue {queue}). It is queued again and starts on its own.")
_add(
    _P,
    "PreemptedByScheduler",
    "Preempted",
    "Preempted: {count} of {needed} nodes were stopped to make room for a job of higher priority. It goes on when there is room again.",
)
_add(
    _P,
    "PodsReadyTimeout",
    "Not ready in time",
    "Queue {queue} took it out because its pods were not ready in time{detail}.",
)
_add(_P, "NodeFailures", "Machines failed", "Queue {queue} took it out because machines failed{detail}.")

_D = phases.DEGRADED
_add(_D, "PodsLost", "Nodes lost", "{placed} of {needed} nodes are placed, {lost} {were} lost{detail}.")
_add(_D, "NodeLost", "Machine lost", "{placed} of {needed} nodes are placed: machine {machine} was lost{detail}.")
_add(
    _D,
    "CrashLoopBackOff",
    "Crashes again and again",
    "{who} {crash} again and again: {detail}. Read the log for the cause.",
)

_add(phases.SUCCEEDED, "Completed", "Succeeded", "{summary}")
_F = phases.FAILED
_add(
    _F,
    "OutOfMemory",
    "Out of memory",
    "{who} ran out of memory and was killed (exit code {exit}, OOMKilled){after}. Ask for more memory per node, or use less.",
)
_add(_F, "Killed", "Killed", "{who} was killed{how}{after}.")
_add(_F, "NonZeroExit", "Program failed", "{who} {how}{after}.")
_add(_F, "InitializerFailed", "Initializer failed", "{who} {how}{after}; no node was started.")
_add(_F, "PodEvicted", "Evicted", "{who} was evicted from its machine: {detail}{after}.")
_add(_F, "DeadlineExceeded", "Deadline exceeded", "Stopped because its deadline passed{detail}.")
_add(
    _F,
    "MaxRestartsReached",
    "Out of restarts",
    "Failed, and all restarts are used up ({restarts}{limit}){detail}.",
)
_add(_F, "JobFailed", "Failed", "Failed: {detail}.")
_add(_F, "RuntimeNotSupported", "Runtime not supported", "Its runtime cannot be used: {detail}.")
_add(_F, "Refused", "Refused", "This job can never be started: {detail}. Correct it and submit it again.")

_M = phases.MISCONFIGURED
_add(_M, "CreateFailed", "Cannot be created", "Its objects cannot be created: {detail}. It is tried again on its own.")
_add(
    _M,
    "RuntimeNotFound",
    "Runtime missing",
    "The runtime {runtime} does not exist. Create it, or submit the job with another one.",
)
_add(
    _M,
    "LocalQueueMissing",
    "Queue missing",
    "The queue {queue} does not exist in namespace {namespace}. Create the LocalQueue, or choose another one.",
)
_add(
    _M,
    "ClusterQueueMissing",
    "Cluster queue missing",
    "Queue {queue} leads nowhere: {detail}. Ask an admin to create the ClusterQueue.",
)
_add(
    _M,
    "PodGroupCRDMissing",
    "Gang scheduler missing",
    "The cluster does not know {kind} of {group}: the gang scheduler {scheduler} is not installed.",
)
_add(
    _M,
    "PodGroupMissing",
    "Pod group missing",
    "The pod group {podgroup} ({group}) has been missing for {age}, so scheduler {scheduler} places nothing.",
)
_add(
    _M,
    "WrongScheduler",
    "Wrong scheduler",
    "{count} of {needed} nodes name scheduler {found}, but the gang is placed by {wanted}. Remove schedulerName from the runtime.",
)
_add(
    _M,
    "GangDeadlock",
    "Gang can never be complete",
    "The pod group waits for {asked} pods at the same time, but only {possible} can exist: it would wait for ever.",
)

_add(phases.DELETING, "BeingDeleted", "Being deleted", "Being deleted{by}{detail}.")
_add(phases.CANCELLED, "CancelledByUser", "Cancelled", "Cancelled by {by}{detail}.")
_add(phases.LOST, "DeletedExternally", "Deleted elsewhere", "The TrainJob was deleted outside trainui{seen}.")
_add(
    phases.LOST,
    "Replaced",
    "Replaced",
    "The TrainJob was deleted outside trainui and another one of the same name was made; that is a job of its own.",
)
