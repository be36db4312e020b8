"""A runtime as YAML to read and to apply elsewhere."""

from typing import Any

import yaml

# What the server adds says nothing about the runtime itself.
_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FIRST = ("apiVersion", "kind", "metadata", "spec")


class _Dumper(yaml.SafeDumper):
    """Shows texts of several lines as blocks, and writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def runtime_yaml(runtime: dict[str, Any]) -> str:
    """Return a runtime without what the server added, with apiVersion, kind, metadata and spec first."""
    metadata = {key: value for key, value in (runtime.get("metadata") or {}).items() if key not in _SERVER}
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _LAST_APPLIED}
    metadata = {k: v for k, v in metadata.items() if k != "annotations"} | (
        {"annotations": annotations} if annotations else {}
    )
    ordered = {key: runtime[key] for key in _FIRST if key in runtime} | {"metadata": metadata}
    dumped: str = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**30)
    return dumped
