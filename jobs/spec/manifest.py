"""Manifests: TrainJobs and runtimes as text, read strictly, written so that they read back identically."""

import copy
from typing import Any

import yaml

from jobs.spec.export import Omission, export_trainjob
from jobs.spec.schema import TRAIN_JOB
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import API_VERSION, RUNTIME_KINDS
from runtimes.spec.kinds import TRAIN_JOB as TRAIN_JOB_KIND
from runtimes.spec.runtime_schema import RUNTIME
from runtimes.spec.scalars import needs_quotes
from runtimes.spec.schema import Schema, check, type_name, without_nulls
from runtimes.spec.validation import unknown
from runtimes.spec.yaml_reader import MAX_BYTES, ReadError, read_document

__all__ = [
    "MAX_BYTES",
    "ManifestError",
    "Omission",
    "check_manifest",
    "dump_manifest",
    "export_trainjob",
    "load_manifest",
]

_SCHEMAS: dict[str, Schema] = {TRAIN_JOB_KIND: TRAIN_JOB} | dict.fromkeys(RUNTIME_KINDS, RUNTIME)
_FIRST = ("apiVersion", "kind", "metadata", "spec")


class ManifestError(ValueError):
    """A text or object that is no manifest of the wanted kind. `findings` says what and where."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(f"{f.path}: {f.message}" if f.path else f.message for f in findings))
        self.findings = findings


def load_manifest(source: str | bytes, kinds: tuple[str, ...] = (TRAIN_JOB_KIND,)) -> dict[str, Any]:
    """Return the object in a YAML or JSON manifest.

    source: text or UTF-8 bytes with exactly one document. kinds: which kinds are welcome.
    Raises ManifestError with the codes of `read_document`, and wrong_kind, wrong_type and unknown_field for what is in it. Whether the
    values make sense is asked of `validate_trainjob` or `validate_runtime`.
    """
    try:
        value = read_document(source)
    except ReadError as error:
        raise ManifestError(error.findings) from None
    return check_manifest(value, kinds)


def check_manifest(value: Any, kinds: tuple[str, ...] = (TRAIN_JOB_KIND,)) -> dict[str, Any]:
    """Return the value without nulls if it is an object of a welcome kind with known fields of the right types (for parsed JSON).

    Raises ManifestError with wrong_type, wrong_kind or unknown_field.
    """
    if not isinstance(value, dict):
        raise ManifestError([Finding("", "wrong_type", f"a manifest is a map of fields, not a {type_name(value)}")])
    schema = _schema_of(value, kinds)
    clean: dict[str, Any] = without_nulls(value)
    findings = [f for f in check(schema, clean) if f.code == "wrong_type"] + unknown(schema, clean)
    if findings:
        raise ManifestError(findings)
    return clean


def _schema_of(value: dict[str, Any], kinds: tuple[str, ...]) -> Schema:
    kind, version = value.get("kind"), value.get("apiVersion")
    wanted = " or ".join(kinds)
    if kind not in kinds:
        raise ManifestError([Finding("kind", "wrong_kind", f"must be {wanted}" + (f", not {kind}" if kind else ""))])
    if version != API_VERSION:
        shown = f", not {version}" if version else ""
        raise ManifestError([Finding("apiVersion", "wrong_kind", f"must be {API_VERSION} for a {kind}{shown}")])
    return _SCHEMAS[str(kind)]


class _Dumper(yaml.SafeDumper):
    """Writes no anchors, quotes what any reader could take for something else, and shows texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value and _can_be_block(value):
        style = "|"
    elif needs_quotes(value) or not value.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _can_be_block(value: str) -> bool:
    """Whether a literal block keeps the text as it is: no trailing blanks, no leading blank line, nothing unprintable but LF and TAB."""
    lines = value.split("\n")
    return (
        all(line.replace("\t", " ").isprintable() and line == line.rstrip(" \t") for line in lines)
        and not value.startswith(("\n", " ", "\t"))
        and bool(value.strip())
    )


_Dumper.add_representer(str, _text)


def dump_manifest(obj: dict[str, Any]) -> str:
    """Return the object as YAML that kubectl applies, with apiVersion, kind, metadata and spec first; `load_manifest` reads it back equal."""
    ordered = {key: obj[key] for key in _FIRST if key in obj} | {k: v for k, v in obj.items() if k not in _FIRST}
    dumped: str = yaml.dump(
        copy.deepcopy(ordered),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=2**30,
        default_flow_style=False,
    )
    return dumped
