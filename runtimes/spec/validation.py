"""Whether a runtime can be used: schema, CEL rules, webhook rules, and what we add."""

from typing import Any

from runtimes.spec import rules
from runtimes.spec.access import dig
from runtimes.spec.findings import Finding, Findings
from runtimes.spec.kinds import CLUSTER_TRAINING_RUNTIME, LABEL_SUPPORT
from runtimes.spec.runtime_schema import RUNTIME
from runtimes.spec.schema import check, field_path, prune, unknown_fields, with_defaults

DEPRECATION = (
    '{kind} "{name}" is deprecated and will be removed in a future release of Kubeflow Trainer. '
    "See runtime deprecation policy: "
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
)


def validate_runtime(runtime: dict[str, Any]) -> Findings:
    """Return everything that is wrong with a TrainingRuntime or ClusterTrainingRuntime.

    errors: what the API server, Kubeflow's webhook or we refuse from everyone. submit_checks: unknown fields, and what JobSet would refuse
    later. The same rules hold for create and update (upstream checks updates of cluster runtimes only). Wrong types hide all else.
    """
    findings = Findings(submit_checks=unknown(RUNTIME, runtime), warnings=deprecated(runtime))
    clean = prune(RUNTIME, runtime)
    defaulted = with_defaults(RUNTIME, clean)
    # A missing spec is reported once, by our own rule with a better message.
    findings.errors = [
        f for f in check(RUNTIME, defaulted) if not (f.path == "spec" and f.code == "required" and "spec" not in clean)
    ]
    if any(f.code == "wrong_type" for f in findings.errors):
        return findings
    active = rules.CEL + rules.OURS + (rules.WEBHOOK if rules.webhook_enabled(defaulted) else ())
    findings.errors += [finding for rule in active for finding in rule(defaulted)]
    findings.submit_checks += [finding for rule in rules.SUBMIT for finding in rule(defaulted)]
    return findings


def unknown(schema: dict[str, Any], value: dict[str, Any]) -> list[Finding]:
    """Return a finding for each field that the schema does not know."""
    return [
        Finding(path, "unknown_field", f'unknown field "{path}"')
        for path in map(field_path, unknown_fields(schema, value))
    ]


def deprecated(runtime: dict[str, Any] | None) -> list[Finding]:
    """Return the warning of a deprecated cluster runtime (webhook; upstream warns for that kind only)."""
    if (
        runtime
        and runtime.get("kind") == CLUSTER_TRAINING_RUNTIME
        and dig(runtime, "metadata", "labels", LABEL_SUPPORT) == "deprecated"
    ):
        message = DEPRECATION.format(kind=CLUSTER_TRAINING_RUNTIME, name=dig(runtime, "metadata", "name"))
        return [Finding("metadata.labels[trainer.kubeflow.org/support]", "deprecated", message)]
    return []
