"""Reads the errors of Anthropic's Messages API, which come instead of an answer or in the middle of one."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from mud_assistant.llm.errors import LLMError, UnpairedServerTool
from mud_assistant.llm.wire.error_bodies import ErrorBody, read_error, read_error_body, typed_error

_STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_BAD_REQUEST = 400
_SPENT = re.compile(r"specified API usage limits|credit balance is too low", re.IGNORECASE)
_TOO_LONG = re.compile(r"exceeds? (the )?context (limit|window)|prompt is too long", re.IGNORECASE)
_LIMIT = re.compile(r"> ?(\d{3,8})")
_UNPAIRED = re.compile(
    r"srvtoolu_.{0,200}without|server_tool_use.{0,200}without|without a corresponding `?\w+_tool_result", re.IGNORECASE
)


def error_in_stream(data: Mapping[str, object], provider: str, model: str) -> LLMError:
    """Return the error for `event: error`, by the status that its type has on a response."""
    inner = data.get("error")
    kind = str(inner.get("type") or "") if isinstance(inner, Mapping) else ""
    request_id = data.get("request_id")
    return error_of(
        _STATUS_OF.get(kind, 500), data, provider, model, request_id if isinstance(request_id, str) else None
    )


def error_of_body(
    status: int, body: bytes, provider: str, model: str, request_id: str | None, *, may_wait: bool
) -> LLMError:
    """Return the error for a response with this status.

    `may_wait`: the response named a time to come back. Credit may then be available again, so the error code of its
    details is not taken into account.
    """
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return typed_error(status, read_error_body(body), provider=provider, model=model, request_id=request_id)
    return error_of(status, data, provider, model, request_id, may_wait=may_wait)


def error_of(
    status: int, data: object, provider: str, model: str, request_id: str | None, *, may_wait: bool = False
) -> LLMError:
    """Return the typed error for a decoded error body."""
    body = read_error(data)
    if status == _BAD_REQUEST and _UNPAIRED.search(body.message):
        return UnpairedServerTool(body.message, provider, model, status, request_id)
    told = _translate(data, body, may_wait=may_wait)
    return typed_error(status, told, provider=provider, model=model, request_id=request_id)


def _translate(data: object, body: ErrorBody, *, may_wait: bool) -> ErrorBody:
    """Return the body with Anthropic's own wording translated into the words that all providers share."""
    words = [body.code]
    if _SPENT.search(body.message):
        words.append("spend_limit")
    if not may_wait:
        words.append(_detail(data))
    limit = body.limit
    if _TOO_LONG.search(body.message):
        words.append("context length")
        found = _LIMIT.search(body.message)
        limit = int(found.group(1)) if found else None
    if body.code.strip() == "not_found_error" and body.message.startswith("model:"):
        words.append("model_not_found")
    return ErrorBody(body.message, " ".join(word for word in words if word), limit)


def _detail(data: object) -> str:
    inner = data.get("error") if isinstance(data, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    return str(details.get("error_code") or "") if isinstance(details, Mapping) else ""
