"""Storage URIs of initializers: what the API server takes, and what an initializer can really read."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runtimes.spec.findings import Finding

MAX_LENGTH = 2048
_TAKEN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\n]+")
_STRICT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]+")

# The schemes that the initializers read (facts, 2.5); pvc:// is ours: the claim is mounted instead of downloaded.
SCHEMES = {"dataset": ("hf", "s3", "pvc", "cache"), "model": ("hf", "s3", "pvc")}


@dataclass(frozen=True)
class StorageUri:
    """A storage URI in parts: `s3://bucket/path/data` is scheme s3, place bucket, path path/data."""

    scheme: str
    place: str
    path: str


def is_taken(uri: str) -> bool:
    """Whether the API server takes the text as storageUri (CEL rule: empty, or scheme://...)."""
    return uri == "" or bool(_TAKEN.fullmatch(uri))


def parse_uri(uri: str) -> StorageUri:
    """Return the parts of a storage URI that `check_uri` accepts."""
    scheme, _, rest = uri.partition("://")
    place, _, path = rest.partition("/")
    return StorageUri(scheme.lower(), place, path)


def check_uri(raw: Any, role: str, path: str, trim: bool = False) -> tuple[str, list[Finding]]:
    """Return the URI and what is wrong with it, by the strict rules of submission.

    role: `dataset` or `model`. Codes: required, wrong_type, too_long, invalid_uri, unsupported_scheme, credentials_in_uri. No message
    repeats the URI, because it may hold a password.
    """
    if raw is not None and not isinstance(raw, str):
        return "", [Finding(path, "wrong_type", "a storage URI is text")]
    uri = (raw or "").strip(" \t\r\n") if trim else raw or ""
    code, message = _problem(uri, role)
    return uri, [Finding(path, code, message)] if code else []


def _problem(uri: str, role: str) -> tuple[str, str]:
    known = ", ".join(f"{scheme}://" for scheme in SCHEMES[role])
    if not uri:
        return "required", f"name the place of the {role}: one of {known}"
    if len(uri) > MAX_LENGTH:
        return "too_long", f"may have at most {MAX_LENGTH} characters, has {len(uri)}"
    if not _STRICT.fullmatch(uri):
        return (
            "invalid_uri",
            "must be a URI without blanks or line breaks, such as hf://tatsu-lab/alpaca or s3://bucket/path",
        )
    parts = parse_uri(uri)
    if parts.scheme not in SCHEMES[role]:
        return "unsupported_scheme", f"{parts.scheme}:// cannot be read for a {role}: use one of {known}"
    if "@" in parts.place and _has_credentials(uri):
        return "credentials_in_uri", "must not hold a user or password: put them into a Secret and name it in secretRef"
    if not parts.place or (parts.scheme == "cache" and not parts.path.strip("/")):
        wanted = "cache://SCHEMA/TABLE" if parts.scheme == "cache" else f"{parts.scheme}://NAME"
        return "invalid_uri", f"must name more: {wanted}"
    return "", ""


def _has_credentials(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return True
    return parts.username is not None or parts.password is not None
