"""JSON patch (RFC 6902)."""

from typing import Any

from trainui.localcluster.errors import ApiError, bad_request
from trainui.localcluster.objects import editable


def json_patch(obj: dict[str, Any], patch: Any) -> dict[str, Any]:
    """Return a copy of an object with the operations of a patch carried out in order.

    Raises ApiError: 400 for a patch that is none, 422 for an operation that does not fit the object.
    """
    if not isinstance(patch, list):
        raise bad_request("a JSON patch is a list of operations")
    document: Any = editable(obj)
    for index, operation in enumerate(patch):
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            raise bad_request(f"operation {index} of the JSON patch has no known op")
        try:
            document = _OPERATIONS[operation["op"]](document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            message = f"the server rejected our request due to an error in our request: {_describe(operation, error)}"
            raise ApiError(422, "Invalid", message) from error
    if not isinstance(document, dict):
        raise bad_request("the JSON patch leaves no object")
    return document


def _describe(operation: dict[str, Any], error: Exception) -> str:
    return f"{operation.get('op')} operation does not apply at {operation.get('path')!r}: {error}"


def _tokens(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError("a path starts with /")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _index(items: list[Any], place: str, inserting: bool = False) -> int:
    if place == "-" and inserting:
        return len(items)
    if not place.isdigit() or int(place) >= len(items) + inserting:
        raise IndexError(f"no item {place}")
    return int(place)


def _read(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        document = document[_index(document, token) if isinstance(document, list) else token]
    return document


def _add(document: Any, operation: dict[str, Any]) -> Any:
    return _insert(document, _tokens(operation["path"]), operation["value"])


def _insert(document: Any, tokens: list[str], value: Any) -> Any:
    if not tokens:
        return value
    parent = _read(document, tokens[:-1])
    if isinstance(parent, list):
        parent.insert(_index(parent, tokens[-1], inserting=True), value)
    else:
        parent[tokens[-1]] = value
    return document


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    tokens = _tokens(operation["path"])
    parent = _read(document, tokens[:-1])
    del parent[_index(parent, tokens[-1]) if isinstance(parent, list) else tokens[-1]]
    return document


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    tokens = _tokens(operation["path"])
    _read(document, tokens)
    if not tokens:
        return operation["value"]
    parent = _read(document, tokens[:-1])
    parent[_index(parent, tokens[-1]) if isinstance(parent, list) else tokens[-1]] = operation["value"]
    return document


def _move(document: Any, operation: dict[str, Any]) -> Any:
    source, target = _tokens(operation["from"]), _tokens(operation["path"])
    if target[: len(source)] == source and target != source:
        raise ValueError("a value cannot be moved into itself")
    value = _read(document, source)
    return _insert(_remove(document, {"path": operation["from"]}), target, value)


def _copy(document: Any, operation: dict[str, Any]) -> Any:
    value = editable({"value": _read(document, _tokens(operation["from"]))})["value"]
    return _insert(document, _tokens(operation["path"]), value)


def _test(document: Any, operation: dict[str, Any]) -> Any:
    if _read(document, _tokens(operation["path"])) != operation["value"]:
        raise ValueError("the value is another")
    return document


_OPERATIONS = {"add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test}
