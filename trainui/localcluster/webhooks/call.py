"""Asking one webhook: an AdmissionReview by POST, its answer as Kubernetes reads it."""

import asyncio
import base64
import binascii
import http.client
import ssl
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import orjson

from trainui.localcluster.errors import ApiError
from trainui.localcluster.resources import Obj
from trainui.localcluster.webhooks.configuration import Attempt, Hook

API_VERSION = "admission.k8s.io/v1"
MAX_ANSWER = 4 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """What a webhook said of a write that it lets pass."""

    patch: list[Any]
    warnings: list[str]


async def ask(hook: Hook, attempt: Attempt, dry_run: bool) -> Answer:
    """Ask a webhook. Raises ApiError: its refusal, or 500 when it does not answer and its policy is to fail then."""
    request = _request(attempt, dry_run)
    body = {"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": request}
    try:
        raw = await asyncio.to_thread(_post, hook, orjson.dumps(body))
        return _read(hook, request["uid"], raw)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if not hook.fails:
            return Answer([], [f'the webhook "{hook.name}" did not answer and was passed over: {error}'])
        message = f'Internal error occurred: failed calling webhook "{hook.name}": {error}'
        raise ApiError(500, "InternalError", message) from error


def _request(attempt: Attempt, dry_run: bool) -> Obj:
    kind, metadata = attempt.kind, attempt.obj["metadata"]
    names = {"group": kind.group, "version": kind.version}
    gvk, gvr = names | {"kind": kind.kind}, names | {"resource": kind.plural}
    options = {"kind": f"{attempt.operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"}
    return {
        "uid": str(uuid.uuid4()),
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": attempt.operation,
        "userInfo": {"username": "trainui", "groups": ["system:masters", "system:authenticated"]},
        "object": attempt.obj,
        "oldObject": attempt.old,
        "dryRun": dry_run,
        "options": options | ({"fieldManager": attempt.manager} if attempt.manager else {}),
    }


def _post(hook: Hook, body: bytes) -> bytes:
    url = urlsplit(hook.client["url"])
    connection = _connection(url, hook)
    try:
        connection.request("POST", url.path or "/", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        raw = response.read(MAX_ANSWER + 1)
        if response.status != 200:
            raise ValueError(f"it answered {response.status}")
        if len(raw) > MAX_ANSWER:
            raise ValueError("its answer is too long")
        return raw
    finally:
        connection.close()


def _connection(url: SplitResult, hook: Hook) -> http.client.HTTPConnection:
    host = url.hostname or ""
    if url.scheme == "http":
        return http.client.HTTPConnection(host, url.port, timeout=hook.seconds)
    authority = hook.client.get("caBundle")
    context = ssl.create_default_context(cadata=base64.b64decode(authority).decode() if authority else None)
    return http.client.HTTPSConnection(host, url.port, timeout=hook.seconds, context=context)


def _read(hook: Hook, uid: str, raw: bytes) -> Answer:
    """Read an AdmissionReview. Raises ValueError for one that is none, ApiError for a refusal."""
    review = orjson.loads(raw)
    answer = review.get("response") if isinstance(review, dict) else None
    if not isinstance(answer, dict) or answer.get("uid") != uid:
        raise ValueError("its answer is no AdmissionReview of this request")
    if not answer.get("allowed"):
        raise refusal(hook.name, answer.get("status") or {})
    warnings = [str(warning) for warning in answer.get("warnings") or []]
    patch = answer.get("patch")
    if not patch or not hook.mutating:
        return Answer([], warnings)
    try:
        operations = orjson.loads(base64.b64decode(patch, validate=True))
    except binascii.Error as error:
        raise ValueError(f"its patch cannot be read: {error}") from error
    if answer.get("patchType") != "JSONPatch" or not isinstance(operations, list):
        raise ValueError("its patch is no JSONPatch")
    return Answer(operations, warnings)


def refusal(name: str, status: Obj) -> ApiError:
    """Return the error that a webhook's Status means, with its details passed on."""
    code = status.get("code")
    code = code if isinstance(code, int) and code >= 400 else 400
    said = status.get("message") or status.get("reason")
    denied = f'admission webhook "{name}" denied the request'
    details = status.get("details")
    message = f"{denied}: {said}" if said else f"{denied} without explanation"
    return ApiError(code, str(status.get("reason") or ""), message, details if isinstance(details, dict) else {})
