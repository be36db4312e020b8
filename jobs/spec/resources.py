"""What a container may ask for: the checks of requests and limits that Kubernetes makes only when the pod is created."""

from collections.abc import Iterator
from typing import Any

from runtimes.spec.access import as_map
from runtimes.spec.findings import Finding
from runtimes.spec.quantities import Quantity, QuantityError, is_extended_resource, read
from runtimes.spec.schema import field_path


def negative_amounts(resources: Any, path: str) -> Iterator[Finding]:
    """Yield a finding for each negative amount: upstream takes it, and no pod can have it."""
    for part in ("limits", "requests"):
        for name, raw in as_map(as_map(resources).get(part)).items():
            if isinstance(raw, str | int) and str(raw).startswith("-") and str(raw).strip("-0.") != "":
                message = f"{raw} is negative: an amount of {name} is zero or more"
                yield Finding(f"{path}.{part}{_key(name)}", "negative", message, {"resource": name})


def check_resources(resources: Any, path: str) -> Iterator[Finding]:
    """Yield what stops a container with these resources, with the resource's name in the params.

    Codes: the ones of `quantities.read`, request_exceeds_limit, extended_resource_limit_required, extended_resource_mismatch.
    """
    limits, problems = _amounts(resources, "limits", path)
    yield from problems
    requests, problems = _amounts(resources, "requests", path)
    yield from problems
    for name, request in requests.items():
        yield from _pair(name, request, limits.get(name), f"{path}.requests{_key(name)}")


def _pair(name: str, request: Quantity, limit: Quantity | None, path: str) -> Iterator[Finding]:
    params = {"resource": name}
    if is_extended_resource(name):
        if limit is None and request.value > 0:
            message = (
                f"{name} needs a limit of {request.text} too: devices are not shared, so request and limit are one"
            )
            yield Finding(path, "extended_resource_limit_required", message, params)
        elif limit is not None and request.value != limit.value:
            message = (
                f"the request for {name} ({request.text}) must be its limit ({limit.text}): devices are not shared"
            )
            yield Finding(path, "extended_resource_mismatch", message, params)
    elif limit is not None and request.value > limit.value:
        yield Finding(
            path,
            "request_exceeds_limit",
            f"the request for {name} ({request.text}) is above its limit ({limit.text})",
            params,
        )


def _amounts(resources: Any, part: str, path: str) -> tuple[dict[str, Quantity], list[Finding]]:
    amounts: dict[str, Quantity] = {}
    problems: list[Finding] = []
    for name, raw in as_map(as_map(resources).get(part)).items():
        try:
            amount = read(raw, name)
        except QuantityError as error:
            problems.append(Finding(f"{path}.{part}{_key(name)}", error.code, str(error), {"resource": name}))
            continue
        if amount is None:
            problems.append(
                Finding(f"{path}.{part}{_key(name)}", "invalid_quantity", "must not be empty", {"resource": name})
            )
        else:
            amounts[name] = amount
    return amounts, problems


def _key(name: str) -> str:
    shown = field_path(["x", name])
    return shown.removeprefix("x")
