"""What a configuration of webhooks may say.

Of `matchConditions` one expression is understood: that the field manager is not a certain one. Webhooks are named by `clientConfig.url`;
beside https, http is allowed on the loopback address, where nobody listens in between.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from trainui.localcluster.admission.rules import Write, invalid_value, required, unsupported
from trainui.localcluster.errors import Cause
from trainui.localcluster.resources import Obj

OPERATIONS = ("CREATE", "UPDATE")
NOT_MANAGER = re.compile(
    r"""\s*!has\(request\.options\.fieldManager\)\s*\|\|\s*request\.options\.fieldManager\s*!=\s*(['"])([^'"]*)\1\s*"""
)


def check_configuration(write: Write) -> list[Cause]:
    """Refuse what a configuration says that this cluster would not do."""
    causes: list[Cause] = []
    names = [hook.get("name") for hook in write.new.get("webhooks") or []]
    for index, hook in enumerate(write.new.get("webhooks") or []):
        path = f"webhooks[{index}]"
        causes += _check_client(hook.get("clientConfig") or {}, f"{path}.clientConfig")
        causes += _check_rules(hook, path)
        if names.count(hook.get("name")) > 1:
            causes.append(Cause(f"{path}.name", f'Duplicate value: "{hook.get("name")}"', "FieldValueDuplicate"))
        for number, condition in enumerate(hook.get("matchConditions") or []):
            if not NOT_MANAGER.fullmatch(condition.get("expression", "")):
                known = "!has(request.options.fieldManager) || request.options.fieldManager != 'NAME'"
                message = f"the local cluster understands only {known}"
                causes.append(
                    invalid_value(f"{path}.matchConditions[{number}].expression", condition["expression"], message)
                )
    return causes


def _check_client(client: Obj, path: str) -> Iterator[Cause]:
    if not client.get("url"):
        yield required(f"{path}.url", "the local cluster reaches webhooks by their address only")
        return
    try:
        url = urlsplit(client["url"])
        host, _ = url.hostname or "", url.port
    except ValueError as error:
        yield invalid_value(f"{path}.url", client["url"], str(error))
        return
    if not host or url.query or url.fragment or url.username:
        yield invalid_value(f"{path}.url", client["url"], "must be an address without user, query and fragment")
    elif url.scheme != "https" and not (url.scheme == "http" and _is_loopback(host)):
        yield invalid_value(f"{path}.url", client["url"], "must be https; http is allowed on a loopback address only")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_rules(hook: Obj, path: str) -> Iterator[Cause]:
    for index, rule in enumerate(hook.get("rules") or []):
        for number, operation in enumerate(rule.get("operations") or []):
            if operation not in ("*", *OPERATIONS):
                yield unsupported(f"{path}.rules[{index}].operations[{number}]", operation, ("*", *OPERATIONS))
