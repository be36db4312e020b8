"""The working copy of one build: the job, its patched runtime, and the replicated jobs that modules edit in turn."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .capabilities import DEFAULT_PORT, Capabilities, Rendezvous
from .containers import NODE, Obj, container, role
from .errors import BuildError
from .keys import Keys
from .patches import apply_patches, check_patches

NUM_NODES = "trainui.dev/num-nodes"


def _positive(value: Any, path: str) -> int | None:
    """Return a count, or None for absent and zero (which mean the default).

    Raises BuildError for a negative count or something that is no whole number.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).lstrip("-").isdigit():
        raise BuildError.of(path, "not_integer", f"{path} must be a whole number.")
    if int(value) < 0:
        raise BuildError.of(path, "out_of_range", f"{path} must be 1 or more, not {value}.", min=1)
    return int(value) or None


@dataclass
class Roles:
    """Which replicated jobs do what.

    ranks: their pods run ranks. trainers: take image, command, args and env of the TrainJob. followers: take image and
    env only (workers that an MPI launcher starts processes in).
    main: returns the container of a replicated job that these values go to, or None.
    """

    ranks: list[Obj]
    trainers: list[Obj]
    followers: list[Obj] = field(default_factory=list)
    main: Callable[[Obj], Obj | None] = lambda job: container(job, NODE)

    @property
    def rank_containers(self) -> list[Obj]:
        """The main containers of the jobs that run ranks."""
        return [found for job in self.ranks if (found := self.main(job)) is not None]


@dataclass
class Draft:
    """One build in progress. `template` is a private copy with the runtime patches applied; `objects` are the children."""

    trainjob: Obj
    runtime: Obj
    capabilities: Capabilities
    keys: Keys | None
    template: Obj
    objects: list[Obj] = field(default_factory=list)

    @classmethod
    def of(cls, trainjob: Obj, runtime: Obj, capabilities: Capabilities, keys: Keys | None) -> "Draft":
        """Return the draft of a job before any policy has touched it. Raises BuildError for patches that fit nothing."""
        patches = (trainjob.get("spec") or {}).get("runtimePatches") or []
        template = (runtime.get("spec") or {}).get("template") or {}
        if wrong := check_patches(template, patches):
            raise BuildError(wrong)
        return cls(trainjob, runtime, capabilities, keys, apply_patches(template, patches))

    @property
    def metadata(self) -> Obj:
        """The TrainJob's metadata."""
        return self.trainjob.get("metadata") or {}

    @property
    def name(self) -> str:
        """The TrainJob's name, which is also the JobSet's."""
        return str(self.metadata.get("name", ""))

    @property
    def namespace(self) -> str:
        """The namespace of the job and all its children."""
        return str(self.metadata.get("namespace", "default"))

    @property
    def spec(self) -> Obj:
        """The TrainJob's spec."""
        return self.trainjob.get("spec") or {}

    @property
    def trainer(self) -> Obj:
        """`spec.trainer`; an absent one is an empty one (kubeflow/trainer#4076)."""
        return self.spec.get("trainer") or {}

    @property
    def ml_policy(self) -> Obj:
        """The runtime's `mlPolicy`, empty if it has none."""
        return (self.runtime.get("spec") or {}).get("mlPolicy") or {}

    @property
    def suspended(self) -> bool:
        """Whether the job is to stand still."""
        return bool(self.spec.get("suspend"))

    @property
    def jobs(self) -> list[Obj]:
        """The replicated jobs, in the runtime's order."""
        jobs: list[Obj] = self.template.setdefault("spec", {}).setdefault("replicatedJobs", [])
        return jobs

    def job(self, name: str) -> Obj | None:
        """Return the replicated job of that name, or None."""
        return next((job for job in self.jobs if job.get("name") == name), None)

    def with_role(self, wanted: str) -> list[Obj]:
        """Return the replicated jobs of an ancestor step."""
        return [job for job in self.jobs if role(job) == wanted]

    def annotation(self, name: str) -> str:
        """Return an annotation of ours from the TrainJob, else from the runtime or its template; "" if there is none."""
        for metadata in (self.metadata, self.runtime.get("metadata") or {}, self.template.get("metadata") or {}):
            if value := (metadata.get("annotations") or {}).get(name):
                return str(value)
        return ""

    @property
    def requested_nodes(self) -> int | None:
        """The number of nodes the TrainJob asks for, or None; our annotation resizes a job whose spec is immutable."""
        if resized := (self.metadata.get("annotations") or {}).get(NUM_NODES):
            return _positive(resized, f"metadata.annotations[{NUM_NODES}]")
        return _positive(self.trainer.get("numNodes"), "spec.trainer.numNodes")

    @property
    def nodes(self) -> int:
        """The number of nodes: what the TrainJob asks for, else the runtime's, else 1."""
        return self.requested_nodes or self.runtime_nodes

    @property
    def runtime_nodes(self) -> int:
        """The number of nodes the runtime names, else 1."""
        return _positive(self.ml_policy.get("numNodes"), "spec.mlPolicy.numNodes") or 1

    @property
    def procs_per_node(self) -> int | None:
        """The processes per node the TrainJob asks for, or None."""
        value = self.trainer.get("numProcPerNode")
        if value is not None and _positive(value, "spec.trainer.numProcPerNode") is None:
            raise BuildError.of(
                "spec.trainer.numProcPerNode", "out_of_range", "numProcPerNode must be 1 or more.", min=1
            )
        return _positive(value, "spec.trainer.numProcPerNode")

    @property
    def subdomain(self) -> str:
        """The headless service of the pods."""
        return str((self.template.get("spec", {}).get("network") or {}).get("subdomain") or self.name)

    def rendezvous(self, job: Obj | None) -> Rendezvous:
        """Return where ranks meet: the first pod of `job`, or the leased port where pod names do not resolve."""
        if not self.capabilities.pod_dns and self.capabilities.rendezvous:
            return self.capabilities.rendezvous
        name = (job or {}).get("name", NODE)
        return Rendezvous(f"{self.name}-{name}-0-0.{self.subdomain}", DEFAULT_PORT)

    def child(self, api_version: str, kind: str, name: str, **content: Any) -> Obj:
        """Return a child object: named, owned by the TrainJob, labelled as ours."""
        return {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {"trainui.dev/trainjob": self.name},
                "ownerReferences": [self.owner_reference()],
            },
            **content,
        }

    def owner_reference(self) -> Obj:
        """Return the reference that makes the TrainJob the controller of a child."""
        uid = self.metadata.get("uid")
        return {
            "apiVersion": self.trainjob.get("apiVersion", "trainer.kubeflow.org/v1alpha1"),
            "kind": self.trainjob.get("kind", "TrainJob"),
            "name": self.name,
            "controller": True,
            "blockOwnerDeletion": True,
            **({"uid": uid} if uid else {}),
        }
