"""What REST views of all apps share."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from runtimes.spec.findings import Finding
from trainui.accounts.models import User
from trainui.problems import Problem


class StrictJSONParser(JSONParser):
    """JSON, where an empty body is an empty object."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the parsed body. Raises ParseError."""
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None


class AnyAccept(DefaultContentNegotiation):
    """For answers that have one form only (text, YAML, files): whatever `Accept` says, they are sent; problems stay problem documents."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        first = next(iter(renderers))
        return first, str(first.media_type)


def caller(request: Request) -> User:
    """Return who calls; views are reached by signed-in users only (DEFAULT_PERMISSION_CLASSES)."""
    assert isinstance(request.user, User)
    return request.user


def whole_number(request: Request, name: str, default: int) -> int:
    """Return a number of the address. Raises Problem 422 that names the parameter."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.lstrip("-").isascii() and text.lstrip("-").isdigit()) or len(text) > 18:
        message = f"“{name}” must be a whole number."
        raise Problem(422, "invalid_parameter", message, [Finding(name, "invalid_number", message)])
    return int(text)


class ApiTokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document names our tokens."""

    target_class = "trainui.accounts.authentication.ApiTokenAuthentication"
    name = "ApiToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the bearer scheme."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token made under /tokens: `Authorization: Bearer tui_...`.",
        }
