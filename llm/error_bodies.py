"""Error bodies of every shape into one message and code, and those into a typed error (edge cases 46 to 49, 82, 85)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from llm.errors import (
    BadCredential,
    ContextOverflow,
    LLMError,
    ModelNotFound,
    OutputUnreadable,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Rejected,
    ThinkingUnsupported,
    ToolsUnsupported,
    Unavailable,
)

_MAX_MESSAGE = 300
_TOO_LARGE = 413
_BY_STATUS: Mapping[int, type[LLMError]] = {
    401: BadCredential,
    402: QuotaExhausted,
    403: BadCredential,
    408: Unavailable,
    409: Unavailable,
    429: RateLimited,
}
_MARKUP = re.compile(r"<[^<>]{0,200}>")
_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window)|maximum context|prompt is too long|prompt too long|longer than the context"
    r"|exceed_context_size|too many tokens|input is too long|reduce the length",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"does not support (tools|function)|tools? (is|are) not supported|tool.{0,20}not supported", re.IGNORECASE
)
_NO_THINKING = re.compile(r"does not support thinking", re.IGNORECASE)
_UNREADABLE = re.compile(
    r"output that does not match the expected|failed to parse (input|output)|tool_use_failed", re.IGNORECASE
)
_NO_MODEL = re.compile(r"model.{0,120}(not found|does not exist|not exist|unknown)|model_not_found", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|credit_balance|spend_limit|billing|out of credit", re.IGNORECASE)
_LIMIT = re.compile(r"(?:maximum context length is|n_ctx\D{0,6}|context (?:length|size|window)\D{0,20})(\d{3,8})")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error body says: a sentence for people, and the provider's code words joined."""

    message: str
    code: str = ""
    limit: int | None = None


def read_error_body(body: bytes) -> ErrorBody:
    """The message in an error body, whatever its shape; never raises."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ErrorBody(excerpt(body))
    return read_error(data)


def excerpt(body: bytes) -> str:
    """The beginning of a body that is no JSON, on one line and without markup (edge cases 46 and 47)."""
    plain = _MARKUP.sub(" ", body[:4000].decode("utf-8", "replace"))
    return " ".join(word for word in plain.split() if word.isprintable())[:_MAX_MESSAGE]


def read_error(data: object) -> ErrorBody:
    """The message in a decoded error value (edge case 49)."""
    if isinstance(data, list):
        return read_error(data[0]) if data else ErrorBody("")
    if not isinstance(data, Mapping):
        return ErrorBody(str(data)[:_MAX_MESSAGE] if data is not None else "")
    inner = data.get("error")
    if isinstance(inner, Mapping):
        return _from_mapping(inner)
    if isinstance(inner, str):
        return ErrorBody(inner[:_MAX_MESSAGE], str(data.get("code") or ""))
    return _from_mapping(data)


def _from_mapping(data: Mapping[str, object]) -> ErrorBody:
    message = next((str(data[key]) for key in ("message", "detail", "error", "msg") if data.get(key)), "")
    code = " ".join(str(data[key]) for key in ("code", "type") if data.get(key))
    limit = data.get("n_ctx")
    return ErrorBody(message[:_MAX_MESSAGE], code, limit if isinstance(limit, int) else None)


def typed_error(status: int, body: ErrorBody, *, provider: str, model: str, request_id: str | None = None) -> LLMError:
    """The error for a status and what its body said (llm-wire section 4 decides what is whose fault)."""
    said = f"{body.code} {body.message}"
    message = body.message or f"answered with status {status}"
    if _OVERFLOW.search(said) or status == _TOO_LARGE:
        found = _LIMIT.search(body.message)
        limit = body.limit or (int(found.group(1)) if found else None)
        return ContextOverflow(message, provider, model, status, request_id, limit)
    kind = _kind_by_words(said, status) or _kind_by_status(status)
    return kind(message, provider, model, status, request_id)


def _kind_by_words(said: str, status: int) -> type[LLMError] | None:
    """What the words of an error say that its status does not."""
    if _NO_TOOLS.search(said):
        return ToolsUnsupported
    if _NO_THINKING.search(said):
        return ThinkingUnsupported
    if _UNREADABLE.search(said):
        return OutputUnreadable
    if status not in {401, 403} and _QUOTA.search(said):
        return QuotaExhausted
    if status in {400, 404} and _NO_MODEL.search(said):
        return ModelNotFound
    return None


def _kind_by_status(status: int) -> type[LLMError]:
    """What an HTTP status means when the words add nothing."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:  # noqa: PLR2004  (HTTP)
        return Unavailable
    return ProtocolError if status < 300 else Rejected  # noqa: PLR2004  (HTTP)
