"""The ASGI application: authentication, the way from a URL to its handler, errors as Status objects."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from trainui.localcluster.api import discovery, openapi
from trainui.localcluster.api.accept import wanted_form, wants_aggregated
from trainui.localcluster.api.listing import add_warnings, json_response, list_objects, render_object
from trainui.localcluster.api.logs import pod_log
from trainui.localcluster.api.options import flag, text
from trainui.localcluster.api.target import Target, page_not_found, parse_target
from trainui.localcluster.api.watching import watch
from trainui.localcluster.api.writing import create, delete_collection, delete_object, patch_object, replace
from trainui.localcluster.errors import ApiError, conflict
from trainui.localcluster.resources import groups
from trainui.localcluster.store import Store
from trainui.localcluster.webhooks.gate import NeedsReview, Review

log = logging.getLogger(__name__)
REVIEWS = 5  # how often a write is shown to webhooks anew, because what it changes has changed meanwhile
HEALTH = ("/healthz", "/readyz", "/livez")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Api:
    """Kubernetes' REST API over a store. Every request but the health checks needs the token."""

    def __init__(self, store: Store, token: str, pods: Path) -> None:
        """Serve `store` to bearers of `token`; logs are read from the folder `pods`."""
        self.store = store
        self.pods = pods
        self._closing = asyncio.Event()
        self._authorization = f"Bearer {token}".encode()

    def close(self) -> None:
        """End open watches and logs; called in the loop."""
        self._closing.set()
        self.store.wake()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ApiError as error:
            response = json_response(error.status(), error.code)
        except ClientDisconnect:
            return
        except Exception:
            log.exception("%s %s failed", request.method, request.url.path)
            failure = ApiError(500, "InternalError", "the local cluster failed to answer; its log has the reason")
            response = json_response(failure.status(), 500)
        try:
            await response(scope, receive, send)
        except Exception:
            log.exception("%s %s broke off", request.method, request.url.path)
            raise

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path in HEALTH or path.startswith(tuple(f"{name}/" for name in HEALTH)):
            return PlainTextResponse("ok")
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, self._authorization):
            raise ApiError(401, "Unauthorized", "Unauthorized")
        if request.method == "GET":
            found = self._describe(request, path.rstrip("/") or "/")
            if found is not None:
                return found
        return await self._serve(request, parse_target(_raw_path(request)))

    def _describe(self, request: Request, path: str) -> Response | None:
        """Answer what is asked about the server itself; None for objects."""
        parts = path.strip("/").split("/")
        if path in ("/api", "/apis") and wants_aggregated(request):
            content = orjson.dumps(discovery.aggregated(core=path == "/api"))
            return Response(content, headers={"Content-Type": AGGREGATED, "Vary": "Accept"})
        if path in ("/", "/version", "/api", "/apis", "/openapi/v3"):
            return json_response(self._documents()[path](request))
        if path.startswith("/openapi/v3/"):
            document = openapi.document(path.removeprefix("/openapi/v3/"))
            if document is None:
                raise page_not_found()
            return Response(document, media_type="application/json")
        if path == "/api/v1":
            return json_response(discovery.resource_list("", "v1"))
        versions = groups()
        if parts[0] == "apis" and len(parts) <= 3 and (len(parts) == 1 or parts[1] in versions):
            if len(parts) == 2:
                return json_response(discovery.api_group(parts[1]))
            if parts[2] in versions[parts[1]]:
                return json_response(discovery.resource_list(parts[1], parts[2]))
        return None

    def _documents(self) -> dict[str, Callable[[Request], object]]:
        paths = ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
        return {
            "/": lambda request: {"paths": paths},
            "/version": lambda request: discovery.VERSION,
            "/api": lambda request: discovery.api_versions(request.url.netloc),
            "/apis": lambda request: discovery.api_group_list(),
            "/openapi/v3": lambda request: openapi.index(),
        }

    async def _serve(self, request: Request, target: Target) -> Response:
        if request.method in ("GET", "HEAD"):
            return self._read(request, target)
        handler = _handler(request.method, target)
        if handler is None:
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        review = Review(text(request, "fieldManager"), "dryRun" in request.query_params)
        with review.of_this_request():
            for _ in range(REVIEWS):
                try:
                    response = await handler(self.store, request, target)
                    add_warnings(response, review.warnings)
                    return response
                except NeedsReview as needed:
                    await review.obtain(needed)
        raise conflict(target.kind, target.name or "", "the object changes all the time; please try again")

    def _read(self, request: Request, target: Target) -> Response:
        if target.subresource == "log":
            return pod_log(self.store, self.pods, request, target, self._closing)
        if flag(request, "watch"):
            return watch(self.store, request, target, self._closing)
        if target.name is None:
            return list_objects(self.store, request, target)
        obj = self.store.read(target.kind.kind, target.namespace, target.name)
        return render_object(target.kind, obj, wanted_form(request), self.store.clock())


Handler = Callable[[Store, Request, Target], Awaitable[Response]]


def _handler(method: str, target: Target) -> Handler | None:
    if target.name is None:
        return {"POST": create, "DELETE": delete_collection}.get(method)
    if target.subresource == "log":
        return None
    if target.subresource:
        return {"PUT": replace, "PATCH": patch_object}.get(method)
    return {"PUT": replace, "PATCH": patch_object, "DELETE": delete_object}.get(method)


def _raw_path(request: Request) -> str:
    """Return the path with its percent signs, so that an encoded slash parts nothing."""
    raw = request.scope.get("raw_path")
    return raw.decode("latin-1").partition("?")[0] if raw else request.url.path
