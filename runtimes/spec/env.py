"""Environment variables of jobs: which names and values are possible, and which a policy keeps for itself."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from runtimes.spec.findings import Finding

# Newer clusters take nearly every character in a name; shells and programs read only these.
_NAME = re.compile(r"[-._A-Za-z][-._A-Za-z0-9]*")
# TAB, LF and CR may stand in a value; other control characters are refused.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Linux refuses to start a program with a longer NAME=value: 131,072 bytes with the closing NUL (execve, MAX_ARG_STRLEN).
MAX_ENTRY_BYTES = 131_071

RESERVED: dict[str, tuple[str, ...]] = {
    "torch": ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    "mpi": (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_plm_rsh_args",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
    ),
    # Upstream reserves none for JAX, and a job that sets one splits into several (marked in the conformance set).
    "jax": ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"),
    "xgboost": ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
}
_LABELS = {"torch": "PyTorch", "mpi": "MPI", "jax": "JAX", "xgboost": "XGBoost"}


def is_env_name(name: str) -> bool:
    """Whether programs in the pod can read a variable of this name."""
    return bool(_NAME.fullmatch(name))


def reserved_by(name: str, policies: Iterable[str]) -> str | None:
    """Return the policy that sets this variable itself, or None."""
    return next((policy for policy in policies if name in RESERVED.get(policy, ())), None)


def reserved_message(name: str, policy: str) -> str:
    """Return the sentence that refuses a reserved variable."""
    return f"{name} is reserved for the {_LABELS[policy]} runtime, which sets it for every rank"


def check_entry(name: str, value: str | None, path: str) -> Iterator[Finding]:
    """Yield what is wrong with one variable: required, invalid_env_name, control_char, too_large. `path` is the entry's."""
    if not name:
        yield Finding(f"{path}.name", "required", "a variable needs a name")
    elif not is_env_name(name):
        message = f'"{name[:60]}" cannot name a variable: use letters, digits, "_", "-" and ".", not a digit first'
        yield Finding(f"{path}.name", "invalid_env_name", message, {"name": name})
    if value is None:
        return
    if _CONTROL.search(value):
        yield Finding(f"{path}.value", "control_char", f"the value of {name} holds a control character", {"name": name})
    size = len(f"{name}={value}".encode("utf-8", "surrogatepass"))
    if size > MAX_ENTRY_BYTES:
        message = f"{name} and its value are {size} bytes long: a program takes at most {MAX_ENTRY_BYTES}"
        yield Finding(f"{path}.value", "too_large", message, {"name": name, "max_bytes": MAX_ENTRY_BYTES})


def check_pairs(
    pairs: Iterable[tuple[str, str]], path: str, trim: bool = False, policies: Iterable[str] = ()
) -> tuple[list[tuple[str, str]], list[Finding]]:
    """Return the variables of a form or request, and what is wrong with them (also duplicate_env and reserved_env).

    trim: the pairs come from a form: CRLF, which browsers send, becomes LF. Values are else kept byte for byte.
    """
    policies = list(policies)
    kept: list[tuple[str, str]] = []
    findings: list[Finding] = []
    seen: set[str] = set()
    for index, (name, raw) in enumerate(pairs):
        entry = f"{path}[{index}]"
        value = raw.replace("\r\n", "\n") if trim else raw
        findings += check_entry(name, value, entry)
        if name and name in seen:
            findings.append(Finding(f"{entry}.name", "duplicate_env", f"{name} is set twice", {"name": name}))
        if policy := reserved_by(name, policies):
            findings.append(Finding(f"{entry}.name", "reserved_env", reserved_message(name, policy), {"name": name}))
        seen.add(name)
        kept.append((name, value))
    return kept, findings


def parse_env_text(text: str, path: str = "") -> tuple[list[tuple[str, str]], list[Finding]]:
    """Return the variables in lines of NAME=value, and what is wrong: missing_equals or the codes of one entry, each with its `line`.

    Split at the first `=`; nothing is unquoted. Empty lines and lines whose first character is `#` are skipped.
    """
    pairs: list[tuple[str, str]] = []
    findings: list[Finding] = []
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        found = list(check_entry(name, value, path)) if equals else []
        if not equals:
            found.append(Finding(path, "missing_equals", "there is no =: write NAME=value"))
        elif name in seen:
            found.append(Finding(path, "duplicate_env", f"{name} is set twice", {"name": name}))
        findings += [Finding(path, f.code, f"line {number}: {f.message}", {**f.params, "line": number}) for f in found]
        seen.add(name)
        pairs.append((name, value))
    return pairs, findings


def entries(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return name and value pairs as a Kubernetes env list."""
    return [{"name": name, "value": value} for name, value in pairs]
