"""The life of fake machines and of the pods on them, as KWOK's stages: one question in jq says which stage comes next, so that exactly one fits."""

from typing import Any

PREFIX = "rig.trainui.dev"
LOST = f"{PREFIX}/lost"
BEHAVIOUR = (
    f"{PREFIX}/behaviour"  # complete (default), fail, oom, evicted: how the pod ends; image-error: it never starts
)
START_AFTER = f"{PREFIX}/start-after"  # how long the container is being created, as in 5s
RUN_FOR = f"{PREFIX}/run-for"  # how long it runs; without it, until the pod is deleted
EXIT_CODE = f"{PREFIX}/exit-code"  # of `fail`; 1 if not given

_NEXT_OF_POD = f"""
(.metadata.annotations // {{}}) as $a | (.status.phase // "Pending") as $phase
| ([.status.containerStatuses[]?.state.waiting.reason] | first // "") as $waits
| ($a["{BEHAVIOUR}"] // "complete") as $behaviour
| if $a["{LOST}"] then "none"
  elif .metadata.deletionTimestamp then (if $phase == "Running" then "terminate" else "remove" end)
  elif $phase == "Pending" then
    (if $waits == "" and ($a["{START_AFTER}"] or $behaviour == "image-error") then "create"
     elif $behaviour != "image-error" then "start"
     elif $waits == "ContainerCreating" then "pull"
     elif $waits == "ErrImagePull" then "back-off"
     else "none" end)
  elif $phase == "Running" and $a["{RUN_FOR}"] then $behaviour
  else "none" end
"""
_NEXT_OF_NODE = f"""
(.metadata.annotations["{LOST}"] // "") as $lost
| ([.status.conditions[]? | select(.type == "Ready") | .status] | first // "") as $ready
| if $lost == "silent" then (if $ready == "Unknown" then "none" else "silence" end)
  elif $lost == "not-ready" then (if $ready == "False" then "none" else "unready" end)
  elif $ready == "True" then "heartbeat" else "initialize" end
"""


def stages() -> list[dict[str, Any]]:
    """Return all stages."""
    return [*_of_pods(), *_of_nodes()]


def _stage(kind: str, name: str, status: str, milliseconds: int = 0, **more: Any) -> dict[str, Any]:
    question = _NEXT_OF_POD if kind == "Pod" else _NEXT_OF_NODE
    delay: dict[str, Any] = {"durationMilliseconds": milliseconds}
    if source := more.get("after"):
        delay["durationFrom"] = {"expressionFrom": f'.metadata.annotations["{source}"]'}
    if jitter := more.get("jitter"):
        delay["jitterDurationMilliseconds"] = jitter
    result: dict[str, Any] = {"statusTemplate": "{{ $now := Now }}\n" + status} if status else {"delete": True}
    if event := more.get("event"):
        result["event"] = {"type": event[0], "reason": event[1], "message": event[2]}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": f"{kind.lower()}-{name}"},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": [{"key": " ".join(question.split()), "operator": "In", "values": [name]}]},
            "delay": delay,
            "next": result,
        },
    }


def _of_pods() -> list[dict[str, Any]]:
    code = f'{{{{ or ( index $.metadata.annotations "{EXIT_CODE}" ) "1" }}}}'
    return [
        _stage(
            "Pod",
            "create",
            _conditions(False) + _containers(_waiting("ContainerCreating")) + _PLACE + "phase: Pending\n",
        ),
        _stage(
            "Pod",
            "start",
            _conditions(True) + _containers(_RUNNING, True) + _PLACE + "phase: Running\n",
            after=START_AFTER,
        ),
        _stage(
            "Pod",
            "pull",
            _containers(_waiting("ErrImagePull", "manifest unknown")),
            300,
            event=("Warning", "Failed", "Error: ErrImagePull"),
        ),
        _stage(
            "Pod",
            "back-off",
            _containers(_waiting("ImagePullBackOff", "Back-off pulling image")),
            300,
            event=("Warning", "Failed", "Error: ImagePullBackOff"),
        ),
        _stage("Pod", "complete", _done("Succeeded", _terminated("0", "Completed")), after=RUN_FOR),
        _stage("Pod", "fail", _done("Failed", _terminated(code, "Error")), after=RUN_FOR),
        _stage("Pod", "oom", _done("Failed", _terminated("137", "OOMKilled")), after=RUN_FOR),
        _stage(
            "Pod",
            "evicted",
            _EVICTED + _done("Failed", _terminated("137", "Error"), _DISRUPTED),
            after=RUN_FOR,
            event=("Warning", "Evicted", _PRESSURE),
        ),
        _stage("Pod", "terminate", _done("Failed", _terminated("143", "Error"))),
        _stage("Pod", "remove", ""),
    ]


_PRESSURE = "The node was low on resource: memory."
_EVICTED = f'reason: Evicted\nmessage: "{_PRESSURE}"\n'
_DISRUPTED = f"""\
- {{type: DisruptionTarget, status: "True", reason: TerminationByKubelet, message: "{_PRESSURE}", lastTransitionTime: {{{{ $now | Quote }}}}}}
"""
_RUNNING = "{running: {startedAt: {{ $now | Quote }}}}"
_PLACE = """\
startTime: {{ or .status.startTime $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
{{ $found := PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) .metadata.uid .metadata.name .metadata.namespace }}
{{ $address := or .status.podIP $found }}
podIP: {{ $address | Quote }}
podIPs: [{ip: {{ $address | Quote }}}]
"""


def _waiting(reason: str, message: str = "") -> str:
    return (
        f'{{waiting: {{reason: {reason}, message: "{message}"}}}}' if message else f"{{waiting: {{reason: {reason}}}}}"
    )


def _terminated(code: str, reason: str) -> str:
    times = "startedAt: {{ or $.status.startTime $now | Quote }}, finishedAt: {{ $now | Quote }}"
    return f"{{terminated: {{exitCode: {code}, reason: {reason}, {times}}}}}"


def _containers(state: str, ready: bool = False) -> str:
    """Return the statuses of the containers, all in one state; init containers are over once they run."""
    initial = _statuses("initContainers", _terminated("0", "Completed") if ready else state, ready)
    return _statuses("containers", state, ready) + "{{ if .spec.initContainers }}\n" + initial + "{{ end }}\n"


def _statuses(field: str, state: str, ready: bool) -> str:
    flag = str(ready).lower()
    known = 'name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", restartCount: 0'
    line = f"- {{{known}, ready: {flag}, started: {flag}, state: {state}}}"
    return f"{field[:-1]}Statuses:\n{{{{ range .spec.{field} }}}}\n{line}\n{{{{ end }}}}\n"


def _conditions(ready: bool, more: str = "", initialized: bool | None = None) -> str:
    values = {"Initialized": ready if initialized is None else initialized, "Ready": ready, "ContainersReady": ready}
    lines = [
        f'- {{type: {name}, status: "{value}", lastTransitionTime: {{{{ $now | Quote }}}}}}'
        for name, value in values.items()
    ]
    return "conditions:\n" + "\n".join(lines) + "\n" + more


def _done(phase: str, state: str, more: str = "") -> str:
    ended = _statuses("containers", state, ready=False)
    return _conditions(False, more, initialized=True) + ended + f"phase: {phase}\n"


def _of_nodes() -> list[dict[str, Any]]:
    alive = _node_conditions("{{ .status | Quote }}", "{{ .reason | Quote }}", "{{ .message | Quote }}")
    unknown = _node_conditions('"Unknown"', "NodeStatusUnknown", '"Kubelet stopped posting node status."')
    unready = (
        'conditions:\n- {type: Ready, status: "False", reason: KubeletNotReady, message: "container runtime is down", '
    )
    unready += "lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }}}\n"
    return [
        _stage("Node", "initialize", alive + _MACHINE),
        _stage("Node", "heartbeat", alive.replace(_SINCE_NOW, _SINCE), 20_000, jitter=25_000),
        _stage("Node", "silence", unknown),
        _stage("Node", "unready", unready),
    ]


_SINCE_NOW = "lastTransitionTime: {{ $now | Quote }}"
_SINCE = "lastTransitionTime: {{ or $.metadata.creationTimestamp $now | Quote }}"
_MACHINE = """\
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
- {type: Hostname, address: {{ .metadata.name | Quote }}}
nodeInfo: {architecture: amd64, operatingSystem: linux, osImage: fake, kernelVersion: fake, kubeletVersion: fake, kubeProxyVersion: "",
  containerRuntimeVersion: fake, machineID: "", systemUUID: "", bootID: ""}
daemonEndpoints: {kubeletEndpoint: {Port: {{ NodePort }}}}
phase: Running
"""


def _node_conditions(status: str, reason: str, message: str) -> str:
    return f"""\
conditions:
{{{{ range NodeConditions }}}}
- {{type: {{{{ .type | Quote }}}}, status: {status}, reason: {reason}, message: {message}, lastHeartbeatTime: {{{{ $now | Quote }}}}, {_SINCE_NOW}}}
{{{{ end }}}}
"""
