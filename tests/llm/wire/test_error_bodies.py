"""Error bodies and in-stream errors into typed errors: message, status, field, limit."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm import (
    BadCredential,
    ContextOverflow,
    LLMError,
    OutputUnreadable,
    QuotaExhausted,
    RateLimited,
    Rejected,
    ToolsUnsupported,
    Unavailable,
)
from mud_assistant.llm.wire.error_bodies import read_error, read_error_body, typed_error


def error_of(status: int, data: Any) -> LLMError:
    return typed_error(status, read_error_body(orjson.dumps(data)), provider="p", model="m")


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000", 8192),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease", 200000),
        ("prompt too long; exceeded max context length by 1119046 tokens (ref: 1)", None),
        ("the prompt is longer than the context length currently allocated", None),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).", 1048575),
        ("Please reduce the length of the messages or completion.", None),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            32768,
        ),
        ("The total length of all messages is too long.", None),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072),
        ("Input is too long for requested model.", None),
        ("Trying to keep the first 5000 tokens when the model is loaded with context length of only 4096 tokens", 4096),
        ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 272000),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", 4096),
        ("This endpoint's maximum context length is 200,000 tokens.", 200000),
    ],
)
def test_82_a_prompt_too_long_in_every_spelling(message: str, limit: int | None) -> None:
    error = error_of(400, {"error": {"message": message}})
    assert isinstance(error, ContextOverflow)
    assert error.limit == limit


def test_82_a_code_is_enough() -> None:
    assert isinstance(error_of(400, {"error": {"message": "no", "code": "context_length_exceeded"}}), ContextOverflow)
    assert isinstance(error_of(400, {"error": {"message": "no", "type": "too_many_prompt_tokens"}}), ContextOverflow)


@pytest.mark.parametrize(
    ("status", "data", "kind"),
    [
        (
            429,
            {"error": {"message": "Request too large for gpt-4 on tokens per min (TPM): Limit 10000"}},
            ContextOverflow,
        ),
        (429, {"error": {"message": "Too many tokens, please wait before trying again."}}, RateLimited),
        (429, {"error": {"message": "slow", "code": "rate_limit_exceeded"}}, RateLimited),
        (429, {"error": {"message": "none left", "code": "credit_balance_exhausted"}}, QuotaExhausted),
        (429, {"error": {"message": "enforced_spend_limit_reached"}}, QuotaExhausted),
        (400, {"error": {"message": "Your credit balance is too low"}}, QuotaExhausted),
        (401, {"error": {"message": "see billing"}}, BadCredential),
        (403, {"error": {"code": 403, "message": "Your input was flagged"}}, Rejected),
        (404, {"error": {"code": 404, "message": "No endpoints found that support tool use."}}, ToolsUnsupported),
        (400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}, ToolsUnsupported),
        (400, {"error": {"message": "Function tools with reasoning_effort are not supported for gpt-9"}}, Rejected),
        (400, {"error": {"message": "tool_choice is not supported by this model"}}, Rejected),
        (409, {"error": "busy"}, Unavailable),
        (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, Unavailable),
    ],
)
def test_whose_fault_it_is(status: int, data: Any, kind: type[LLMError]) -> None:
    assert type(error_of(status, data)) is kind


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"error": {"message": "x", "code": 502}}, 502),
        ({"error": {"message": "x", "code": "503"}}, 503),
        ({"error": {"message": "x", "status": 400}}, 400),
        ({"error": {"message": "x"}, "status_code": 400}, 400),
        ({"error": {"message": "x", "type": "overloaded_error"}}, 529),
        ({"error": {"message": "x", "code": "invalid_request_error"}}, 400),
        ({"error": {"message": "x", "code": "rate_limit_exceeded"}}, 429),
        ({"message": "x", "object": "error", "code": 40303}, 500),
        ("over", 500),
    ],
)
def test_the_status_an_error_without_one_implies(data: Any, status: int) -> None:
    assert read_error(data).implied_status == status


def test_39_what_the_model_wrote_is_kept() -> None:
    said = {"message": "Failed to call a function", "code": "tool_use_failed", "failed_generation": '{"name":"look"}'}
    error = error_of(400, {"error": said})
    assert isinstance(error, OutputUnreadable)
    assert error.generated == '{"name":"look"}'


def test_a_validation_report_names_the_field() -> None:
    report = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 3}]
    error = error_of(422, {"object": "error", "message": {"detail": report}})
    assert isinstance(error, Rejected)
    assert error.parameter == "seed"
    assert error.message == "seed: Extra inputs are not permitted"


def test_what_the_vendor_behind_openrouter_said() -> None:
    raw = '{"error":{"message":"temperature: range"}}'
    error = error_of(400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}})
    assert error.message == "temperature: range"


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 1000) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "detail", "type", "loc", "msg", "metadata", "raw", "status"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from([200, 400, 404, 429, 500]), JSONS)
def test_no_body_raises(status: int, data: Any) -> None:
    assert isinstance(error_of(status, data), LLMError)
