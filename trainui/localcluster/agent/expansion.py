"""Kubernetes' ``$(NAME)`` references in environment values, commands and arguments. Pure."""

import re
from collections.abc import Mapping, Sequence

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with every known ``$(NAME)`` replaced; ``$$`` becomes ``$``, and what is unknown stays as written.

    Rule: Kubernetes' third_party/forked/golang/expansion; the result is not expanded again.
    """

    def replace(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        return values.get(match.group(1), match.group(0))

    return _REFERENCE.sub(replace, text)


def expand_all(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Return the words of a command line, each expanded."""
    return [expand(word, values) for word in words]
