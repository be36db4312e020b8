"""Objects as they may be stored and shown: values of Secrets never leave the cluster."""

from typing import Any


def mask(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the values of a Secret left out; every other object as it is."""
    if obj.get("kind") != "Secret":
        return obj
    return obj | {name: dict.fromkeys(obj[name], "<masked>") for name in ("data", "stringData") if obj.get(name)}
