"""Which values are secrets, by the name of their variable or by their shape, and objects and texts without them.

Guessing by name and shape catches what people paste into plain fields. What is kept in a Secret is only ever a reference here.
"""

import copy
import re
from typing import Any

from runtimes.spec.schema import field_path

MASK = "••••••••"

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_SECRET_WORDS = {
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "SECRETS",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
    "APIKEY",
}
_KEY_OWNERS = {
    "API",
    "ACCESS",
    "PRIVATE",
    "SECRET",
    "SIGNING",
    "ENCRYPTION",
    "AUTH",
    "MASTER",
    "ACCOUNT",
    "LICENSE",
    "SSH",
    "WANDB",
}
# EOS_TOKEN is a word of a vocabulary, MAX_TOKEN a count, TOKEN_FILE a path, SECRET_NAME a name: none of them is a secret.
_HARMLESS_BEFORE = {"EOS", "BOS", "PAD", "UNK", "SEP", "CLS", "MAX", "MIN", "NUM", "PER", "IMAGE", "STOP", "SPECIAL"}
_HARMLESS_LAST = {
    "FILE",
    "PATH",
    "DIR",
    "NAME",
    "ID",
    "LENGTH",
    "LIMIT",
    "COUNT",
    "SIZE",
    "TYPE",
    "URL",
    "URI",
    "ENABLED",
    "TTL",
}

_SHAPES = (
    r"\bhf_[A-Za-z0-9]{8,}",
    r"\bgh[pousr]_[A-Za-z0-9]{16,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{35}",
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\b(?:npm|dckr_pat|wandb_v1|nvapi)[_-][A-Za-z0-9_-]{16,}",
    r"\bpypi-[A-Za-z0-9_-]{16,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{12,}=*",
)
_SHAPE = re.compile("|".join(_SHAPES))
_URL_PASSWORD = re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@]*):(?P<password>[^\s/@]+)@")
_OPTION = re.compile(
    r"-{1,2}(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?P<equals>=)?(?P<value>[\s\S]*)|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)=(?P<text>[\s\S]*)"
)
# kubectl keeps the whole object there, secrets and all.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_secret_name(name: str) -> bool:
    """Whether a variable or option of this name holds a secret: HF_TOKEN, WANDB_API_KEY, dbPassword; not MAX_TOKENS or MONKEY."""
    words = [word.upper() for word in _WORDS.findall(name)]
    if not words or words[-1] in _HARMLESS_LAST:
        return False
    for before, word in zip(["", *words], words, strict=False):
        if word in _SECRET_WORDS and before not in _HARMLESS_BEFORE:
            return True
        if word == "KEY" and before in _KEY_OWNERS:
            return True
    return words[-1] in ("PASS", "PWD") and len(words) > 1


def has_secret_shape(value: str) -> bool:
    """Whether a value looks like a token, a private key, or a URL with a password."""
    return bool(_SHAPE.search(value) or _URL_PASSWORD.search(value))


def is_secret(name: str, value: Any) -> bool:
    """Whether the value of a variable must not be shown. A reference to a Secret is no value."""
    return isinstance(value, str) and value != "" and (is_secret_name(name) or has_secret_shape(value))


def masked_value(name: str, value: Any) -> Any:
    """Return the value of a variable as it may be shown."""
    return MASK if is_secret(name, value) else value


def mask_text(text: str) -> str:
    """Return a text with everything of a secret's shape replaced; what stands around it stays."""
    return _SHAPE.sub(MASK, _URL_PASSWORD.sub(rf"\g<before>:{MASK}@", text))


def mask_argument(argument: str) -> str:
    """Return an argument without its secret: `--token=abc`, `api_key=abc` by name, anything else by shape."""
    match = _OPTION.fullmatch(argument)
    name, value = (match["name"] or match["word"], match["value"] or match["text"]) if match else ("", "")
    assigned = bool(match and (match["equals"] or match["word"]))
    if assigned and value and is_secret_name(name):
        return argument[: len(argument) - len(value)] + MASK
    return mask_text(argument)


def mask_object(obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a copy of a Kubernetes object without secret values, and the field paths where they stood.

    Looks at every env list, command, args and text in it; the last-applied annotation goes, and so do data and stringData of a Secret.
    """
    masked = copy.deepcopy(obj)
    paths: list[str] = []
    if masked.get("kind") == "Secret":
        for part in ("data", "stringData"):
            for key in masked.get(part) or {}:
                masked[part][key] = MASK
                paths.append(field_path([part, key]))
    annotations = (masked.get("metadata") or {}).get("annotations")
    if isinstance(annotations, dict) and annotations.pop(LAST_APPLIED, None) is not None:
        paths.append(field_path(["metadata", "annotations", LAST_APPLIED]))
    return _walk(masked, (), paths), paths


def _walk(value: Any, keys: tuple[str | int, ...], paths: list[str]) -> Any:
    if isinstance(value, str):
        shown = mask_text(value)
        if shown != value:
            paths.append(field_path(keys))
        return shown
    if isinstance(value, list):
        if keys and keys[-1] in ("args", "command"):
            return _arguments(value, keys, paths)
        return [_walk(item, (*keys, index), paths) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    name, text = value.get("name"), value.get("value")
    if isinstance(name, str) and len(keys) > 1 and keys[-2] == "env" and is_secret(name, text):
        paths.append(field_path([*keys, "value"]))
        return {**value, "value": MASK}
    return {key: _walk(item, (*keys, key), paths) for key, item in value.items()}


def mask_arguments(values: list[Any]) -> list[Any]:
    """Return the words of a command without secrets: each one's own, and the word after an option such as `--api-key`."""
    shown: list[Any] = []
    for before, value in zip([None, *values], values, strict=False):
        masked = mask_argument(value) if isinstance(value, str) else value
        if isinstance(value, str) and _is_option(before) and not value.startswith("-") and is_secret_name(str(before)):
            masked = MASK
        shown.append(masked)
    return shown


def _arguments(values: list[Any], keys: tuple[str | int, ...], paths: list[str]) -> list[Any]:
    shown = mask_arguments(values)
    paths += [field_path([*keys, i]) for i, value in enumerate(values) if shown[i] != value]
    return shown


def _is_option(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("-") and "=" not in value
