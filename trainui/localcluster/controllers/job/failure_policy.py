"""What a Job makes of a failed pod: podFailurePolicy. Pure."""

from dataclasses import dataclass
from typing import Any

from trainui.localcluster.controllers.meta import name_of, namespace_of, status_of

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Match:
    """The action that applies to a failed pod; FailJob comes with the message of the Job's condition."""

    action: str = "Count"
    message: str = ""


COUNT = Match()


def match(policy: Obj | None, pod: Obj) -> Match:
    """Return what the first matching rule says about a failed pod: FailJob, FailIndex, Ignore or Count (also when none matches)."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        action = rule.get("action", "Count")
        cause = _cause(rule, pod)
        if cause is None:
            continue
        return Match(action, f"{cause} matching {action} rule at index {number}" if action == "FailJob" else "")
    return COUNT


def _cause(rule: Obj, pod: Obj) -> str | None:
    """Return the words for how a rule matches a pod, or None."""
    where = f"{namespace_of(pod)}/{name_of(pod)}"
    status = status_of(pod)
    if rule.get("onExitCodes"):
        requirement = rule["onExitCodes"]
        for container in [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]:
            terminated = (container.get("state") or {}).get("terminated")
            if terminated and _exit_code_matches(
                requirement, container.get("name", ""), int(terminated.get("exitCode", 0))
            ):
                return f"Container {container['name']} for pod {where} failed with exit code {terminated['exitCode']}"
        return None
    for condition in status.get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if condition.get("type") == pattern.get("type") and condition.get("status") == pattern.get(
                "status", "True"
            ):
                return f"Pod {where} has condition {condition['type']}"
    return None


def _exit_code_matches(requirement: Obj, container: str, code: int) -> bool:
    if code == 0 or requirement.get("containerName") not in (None, container):
        return False
    listed = code in (requirement.get("values") or ())
    return listed if requirement.get("operator") == "In" else not listed
