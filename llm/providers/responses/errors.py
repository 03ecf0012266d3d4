"""Reads the errors of the Responses API: instead of an answer, in the middle of one, or as a failed response."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mud_assistant.llm.errors import LLMError, UnreadableReasoning
from mud_assistant.llm.wire.error_bodies import ErrorBody, read_error, typed_error

#: The statuses of the codes that come without one.
_STATUS_OF: Mapping[str, int] = {
    "server_error": 500,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "context_length_exceeded": 400,
    "invalid_encrypted_content": 400,
    "invalid_prompt": 400,
    "bio_policy": 400,
    "cyber_policy": 400,
    "vector_store_timeout": 504,
    "model_not_found": 404,
}
#: Codes that blame something in the request.
_OURS = re.compile(r"^(invalid|unsupported|missing|empty|image)_|_(too_large|too_small|not_found)$")
#: The server cannot open, or does not want, the reasoning in the history.
_STALE = re.compile(
    r"invalid_encrypted_content|encrypted content .{0,4000}could not be (verified|decrypted)"
    r"|item with id .{0,100}not found.{0,40}not persisted|without its required following item",
    re.IGNORECASE | re.DOTALL,
)


def error_of(status: int, body: ErrorBody, provider: str, model: str, request_id: str | None = None) -> LLMError:
    """Return the typed error for a response with this status."""
    if _STALE.search(f"{body.code} {body.message}"):
        return UnreadableReasoning(body.message, provider, model, status, request_id)
    return typed_error(status, body, provider=provider, model=model, request_id=request_id)


def error_in_answer(data: Mapping[str, object], provider: str, model: str) -> LLMError:
    """Return the error for an `error` event or for the response in `response.failed`, by the status of its code."""
    inner = data.get("error")
    said = inner if isinstance(inner, Mapping) else data
    code = said.get("code")
    body = read_error(data)
    if not body.message:
        body = ErrorBody("the response failed", body.code)
    return error_of(_status_of(code, body), body, provider, model)


def _status_of(code: object, body: ErrorBody) -> int:
    if not isinstance(code, str):
        return body.implied_status
    known = _STATUS_OF.get(code)
    if known is None and _OURS.search(code):
        return body.status or 400
    return known or body.implied_status
