"""The DNS name rules of Kubernetes: RFC 1035 labels, RFC 1123 labels and subdomains, label keys and values."""

import re

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com')"
)
LABEL_1035_MESSAGE = "must be a lower case name of letters, digits and '-' that starts with a letter and ends with a letter or digit (e.g. 'llama-sft-1')"


def is_label_1035(name: str) -> bool:
    """Whether the name is an RFC 1035 label, whatever its length."""
    return bool(_LABEL_1035.fullmatch(name))


def is_label_1123(name: str) -> bool:
    """Whether the name is an RFC 1123 label of at most 63 characters."""
    return len(name) <= LABEL_MAX and bool(_LABEL_1123.fullmatch(name))


def is_subdomain(name: str) -> bool:
    """Whether the name is an RFC 1123 subdomain of at most 253 characters."""
    return len(name) <= SUBDOMAIN_MAX and bool(_SUBDOMAIN.fullmatch(name))


def is_label_key(key: str) -> bool:
    """Whether the text can be the key of a label or annotation: an optional domain and `/`, then a name of at most 63 characters."""
    domain, slash, name = key.rpartition("/")
    return (not slash or is_subdomain(domain)) and len(name) <= LABEL_MAX and bool(_QUALIFIED.fullmatch(name))


def is_label_value(value: str) -> bool:
    """Whether the text can be the value of a label."""
    return value == "" or (len(value) <= LABEL_MAX and bool(_QUALIFIED.fullmatch(value)))
