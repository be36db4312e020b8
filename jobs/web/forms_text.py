"""Values of parameters as form fields hold them: text, whatever the API or an earlier form gave."""

import re
import shlex
from typing import Any

from jobs.spec.masking import is_secret, mask_arguments, mask_text, masked_value
from runtimes.spec.access import dig
from runtimes.spec.env import parse_env_text
from runtimes.spec.parameter import Parameter

_VARIABLE = re.compile(r"(?P<list>[A-Za-z.]+)\[(?P<index>\d+)\]\.value")


def text_of(parameter: Parameter, value: Any) -> str:
    """Return a value as the text of its form field; `read_value` of that text gives the value back."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if parameter.type == "env" and not isinstance(value, str):
        return "\n".join(f"{name}={text}" for name, text in _pairs(value))
    if parameter.type == "command" and isinstance(value, list):
        return shlex.join(str(word) for word in value)
    if parameter.type == "secretRef" and isinstance(value, dict):
        return "/".join(str(value[key]) for key in ("name", "key") if value.get(key))
    if parameter.type == "secretRef" and isinstance(value, list | tuple):
        return "/".join(str(part) for part in value if part)
    return str(value)


def without_secrets(parameter: Parameter, text: str) -> tuple[str, list[str]]:
    """Return a field's text for somebody who did not type it, and what was left out: secret variables by name, else the field's title."""
    if parameter.type == "env":
        kept: list[str] = []
        left: list[str] = []
        for line in text.split("\n"):
            name, _, value = line.partition("=")
            (left if is_secret(name.strip(), value) else kept).append(line)
        return "\n".join(kept), [line.partition("=")[0].strip() for line in left]
    return (text, []) if shown(parameter, text) == _plain(parameter, text) else ("", [parameter.title])


def shown(parameter: Parameter, text: str) -> str:
    """Return a field's text as a page may repeat it: secrets hidden."""
    if parameter.type == "env":
        pairs, _ = parse_env_text(text)
        return "\n".join(f"{name}={masked_value(name, value)}" for name, value in pairs)
    if parameter.type == "command":
        try:
            return shlex.join(mask_arguments(shlex.split(text)))
        except ValueError:
            return mask_text(text)
    if parameter.type == "text":
        return str(masked_value(parameter.name, mask_text(text)))
    return text


def _plain(parameter: Parameter, text: str) -> str:
    """What `shown` returns for a text that holds no secret."""
    if parameter.type == "command":
        try:
            return shlex.join(shlex.split(text))
        except ValueError:
            return text
    return text


def _pairs(value: Any) -> list[tuple[str, str]]:
    entries = list(value.items()) if isinstance(value, dict) else value
    pairs = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            pairs.append((str(entry.get("name", "")), str(entry.get("value", ""))))
        elif isinstance(entry, list | tuple) and len(entry) == 2:
            pairs.append((str(entry[0]), str(entry[1])))
    return pairs


def spoken_path(manifest: dict[str, Any], path: str) -> str:
    """Return the name of the variable at a path, or the path itself for anything else."""
    match = _VARIABLE.fullmatch(path)
    keys = match["list"].split(".") if match else []
    name = dig(manifest, *keys, int(match["index"]), "name") if match else None
    return str(name) if name else path
