"""What Anthropic's error bodies mean: the edge cases 81 and 82 by their numbers."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    BadCredential,
    ContextOverflow,
    LLMError,
    ModelNotFound,
    QuotaExhausted,
    RateLimited,
    Rejected,
    Unavailable,
    UnpairedServerTool,
)
from tests.llm.providers.anthropic_stream import PROVIDER


def body_of(kind: str, message: str, **details: str) -> bytes:
    error: dict[str, Any] = {"type": kind, "message": message, **({"details": details} if details else {})}
    return orjson.dumps({"type": "error", "error": error, "request_id": "req_1"})


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, body_of("invalid_request_error", "max_tokens: too large"), Rejected),
        (400, body_of("invalid_request_error", "You have reached your specified API usage limits."), QuotaExhausted),
        (400, body_of("invalid_request_error", "Your credit balance is too low to use it."), QuotaExhausted),
        (401, body_of("authentication_error", "invalid x-api-key"), BadCredential),
        (402, body_of("billing_error", "pay"), QuotaExhausted),
        (403, body_of("permission_error", "no"), BadCredential),
        (404, body_of("not_found_error", "model: claude-zero"), ModelNotFound),
        (409, body_of("conflict_error", "again"), Unavailable),
        (413, body_of("request_too_large", "Request exceeds the maximum size"), ContextOverflow),
        (429, body_of("rate_limit_error", "slow down"), RateLimited),
        (429, body_of("rate_limit_error", "spent", error_code="enforced_spend_limit_reached"), QuotaExhausted),
        (500, body_of("api_error", "Internal server error"), Unavailable),
        (504, body_of("timeout_error", "late"), Unavailable),
        (529, body_of("overloaded_error", "Overloaded"), Unavailable),
        (502, b"<html><h1>Bad Gateway</h1></html>", Unavailable),
    ],
)
def test_81_82_errors_by_status_and_body(status: int, body: bytes, expected: type[LLMError]) -> None:
    error = PROVIDER.parse_error_response(status, Headers({"request-id": ["req_1"]}), body)
    assert type(error) is expected
    assert (error.status, error.request_id, error.provider) == (status, "req_1", "anthropic")


def test_a_spend_limit_with_a_time_to_come_back_is_a_rate_limit() -> None:
    body = body_of("rate_limit_error", "spent", error_code="enforced_spend_limit_reached")
    assert type(PROVIDER.parse_error_response(429, Headers({"retry-after": ["9"]}), body)) is RateLimited


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210001 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
    ],
)
def test_82_the_limit_is_read(message: str) -> None:
    error = PROVIDER.parse_error_response(400, Headers(), body_of("invalid_request_error", message))
    assert isinstance(error, ContextOverflow)
    assert error.limit == 200000


def test_a_call_without_its_result_is_told_apart() -> None:
    message = (
        "messages.1: `web_search` tool use with id `srvtoolu_01` was found without a corresponding"
        " `web_search_tool_result` block"
    )
    error = PROVIDER.parse_error_response(400, Headers(), body_of("invalid_request_error", message))
    assert type(error) is UnpairedServerTool
