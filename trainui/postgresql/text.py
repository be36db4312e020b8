"""Text with NUL, which PostgreSQL cannot hold."""

import re
from typing import Any

from psycopg import adapters
from psycopg.types.json import Jsonb, JsonbDumper
from psycopg.types.string import StrDumperUnknown

_ESCAPED_NUL = re.compile(rb"((?<!\\)(?:\\\\)*)\\u0000")  # not the text backslash, u0000


class TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd"))


class DocumentDumper(JsonbDumper):
    def dump(self, obj: Any) -> Any:
        dumped = super().dump(obj)
        return _ESCAPED_NUL.sub(rb"\1\\ufffd", dumped) if dumped and b"\\u0000" in dumped else dumped


def replace_nul() -> None:
    """Have text with NUL, which PostgreSQL cannot hold, stored with U+FFFD in its place: logs, metrics and messages of programs may have it.

    What people submit is refused before it comes so far.
    """
    adapters.register_dumper(str, TextDumper)
    adapters.register_dumper(Jsonb, DocumentDumper)
