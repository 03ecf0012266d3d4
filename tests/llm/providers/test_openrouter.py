"""OpenRouter: errors inside a 200, numeric codes, reasoning kept for replay, and what it charged."""

from __future__ import annotations

import orjson
import pytest
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    CallOptions,
    ContextOverflow,
    LLMError,
    Message,
    QuotaExhausted,
    RateLimited,
    Rejected,
    Role,
    ToolCall,
    Unavailable,
    Usage,
    get_provider,
)
from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.llm.providers.openrouter import OpenRouterProvider
from mud_assistant.llm.response import Prices, StreamEvent, TextDelta, UsageSeen
from mud_assistant.llm.wire.accumulate import Accumulator
from tests.llm.streamed import EventParser

PROVIDER = OpenRouterProvider(model="vendor/m")


def sent(*datas: object) -> bytes:
    return b": OPENROUTER PROCESSING\n\n" + b"".join(b"data: " + orjson.dumps(data) + b"\n\n" for data in datas)


def delta(finish: str | None = None, **runners: JSON) -> JSONObject:
    return {"choices": [{"index": 0, "delta": runners, "finish_reason": finish}]}


def read(body: bytes) -> list[StreamEvent]:
    parser = EventParser(PROVIDER)
    return parser.feed(body) + parser.end()


def message_of(body: bytes) -> Message:
    accumulator = Accumulator(["look"], lambda: "new")
    for event in read(body):
        accumulator.feed(event)
    return accumulator.message()[0]


def test_its_place_and_its_headers() -> None:
    provider = OpenRouterProvider(key="k", referer="https://game.example", title="The Game")
    assert provider.get_api_url() == "https://openrouter.ai/api/v1/chat/completions"
    assert provider.build_headers().getRawHeaders("HTTP-Referer") == ["https://game.example"]
    assert provider.build_headers().getRawHeaders("X-OpenRouter-Title") == ["The Game"]
    assert not PROVIDER.build_headers().hasHeader("HTTP-Referer")


@pytest.mark.parametrize(("think", "sent_as"), [(True, {"enabled": True}), (False, {"enabled": False}), (None, None)])
def test_thinking_is_an_option_of_its_own(think: bool | None, sent_as: object) -> None:
    assert PROVIDER.request_head((), None, CallOptions(think=think)).get("reasoning") == sent_as


def test_35_an_error_after_two_finishes_keeps_the_text_apart() -> None:
    error = {"error": {"code": 400, "message": "over"}, **delta("error", content="")}
    parser = EventParser(PROVIDER)
    events = parser.feed(sent(delta(content="half"), delta("length"), delta("length"), error))
    assert TextDelta("half") in events
    assert parser.complete
    with pytest.raises(Rejected, match="over"):
        parser.end()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "bad gateway"}, Unavailable),
        ({"code": "429", "message": "slow"}, RateLimited),
        ({"code": 402, "message": "Insufficient credits"}, QuotaExhausted),
        ({"code": 400, "message": "maximum context length is 8192 tokens"}, ContextOverflow),
    ],
)
def test_44_an_error_inside_a_200_is_of_its_own_code(error: object, kind: type[LLMError]) -> None:
    with pytest.raises(kind):
        PROVIDER.parse_response(orjson.dumps({"error": error, "user_id": "u"}))
    with pytest.raises(kind):
        read(sent({"error": error}))
    with pytest.raises(kind):
        PROVIDER.parse_response(orjson.dumps({"choices": [{"error": error, "finish_reason": "error"}]}))


def test_45_a_completion_nested_under_provider() -> None:
    inner = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    assert TextDelta("x") in PROVIDER.parse_response(orjson.dumps({"provider": inner, "choices_": []}))


def test_usage_is_complete_and_its_own_cost_wins() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": 0.0125,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 5},
        "server_tool_use": {"web_search_requests": 2},
    }
    [seen] = [event for event in read(sent({**delta("stop"), "usage": usage})) if isinstance(event, UsageSeen)]
    assert seen.usage == Usage(100, 20, 60, 5, 30, {"web_search": 2}, 0.0125)
    assert Prices(1, 1).fill(seen.usage).cost == 0.0125


def test_prices_count_the_cache_apart_and_do_not_guess() -> None:
    prices = Prices(10, 20, cached_input=1, cache_write=12.5)
    assert prices.cost(Usage(1000, 100, 500, None, 100)) == pytest.approx((400 * 10 + 500 + 1250 + 2000) / 1e6)
    assert prices.cost(Usage(None, 100)) is None


def test_usages_of_one_turn_add_up_and_unknown_stays_unknown() -> None:
    both = Usage(1, 2, server_tools={"web_search": 1}) + Usage(10, None, 5, server_tools={"web_fetch": 2}, cost=0.5)
    assert both == Usage(11, 2, 5, None, None, {"web_search": 1, "web_fetch": 2}, 0.5)


PIECES: tuple[JSONObject, ...] = (
    {"type": "reasoning.text", "index": 0, "text": "let ", "signature": None},
    {"type": "reasoning.text", "index": 0, "text": "me see"},
    {"type": "reasoning.text", "index": 0, "text": "", "signature": "sealed"},
    {"type": "reasoning.encrypted", "index": 1, "data": "AAAA", "id": "r1"},
)
CALL: JSONObject = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}


def test_70_reasoning_details_go_back_to_the_provider_that_wrote_them_and_to_no_other() -> None:
    body = sent(*(delta(reasoning_details=[piece]) for piece in PIECES), delta("tool_calls", tool_calls=[CALL]))
    message = message_of(body)
    assert message.reasoning == "let me see"
    [wire] = PROVIDER.encode_message(message)
    assert wire["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "let me see", "signature": "sealed"},
        {"type": "reasoning.encrypted", "index": 1, "data": "AAAA", "id": "r1"},
    ]
    [elsewhere] = get_provider("openai", model="m").encode_message(message)
    assert "reasoning_details" not in elsewhere
    assert elsewhere["tool_calls"] == wire["tool_calls"]


def test_70_a_thought_told_under_two_names_is_read_once() -> None:
    both = delta("stop", reasoning="hm", reasoning_details=[{"type": "reasoning.text", "text": "hm", "index": 0}])
    assert message_of(sent(both)).reasoning == "hm"


def test_plain_reasoning_goes_back_beside_calls_only() -> None:
    with_call = message_of(sent(delta(reasoning_content="hm"), delta("tool_calls", tool_calls=[CALL])))
    without = message_of(sent(delta(reasoning_content="hm"), delta("stop", content="x")))
    assert PROVIDER.encode_message(with_call)[0]["reasoning_content"] == "hm"
    assert "reasoning_content" not in PROVIDER.encode_message(without)[0]


def test_the_bytes_kept_for_one_provider_are_not_sent_to_another() -> None:
    message = message_of(sent(delta(reasoning_details=[PIECES[3]]), delta("stop", content="x")))
    own = PROVIDER.build_request([message], (), None, CallOptions())
    other = get_provider("local", "http://127.0.0.1:1", "m").build_request([message], (), None, CallOptions())
    assert b"AAAA" in own
    assert b"AAAA" not in other


def test_a_call_of_the_old_shape_is_sent_whole() -> None:
    message = Message(Role.ASSISTANT, (ToolCall("a", "look", {"x": 1}),))
    assert PROVIDER.encode_message(message)[0]["tool_calls"]


def test_numeric_codes_in_error_bodies() -> None:
    body = b'{"error":{"message":"Key limit exceeded","code":429},"user_id":"u"}'
    assert isinstance(PROVIDER.parse_error_response(429, Headers(), body), RateLimited)


def test_402_with_a_time_is_a_budget_in_use_and_without_one_an_empty_account() -> None:
    body = b'{"error":{"message":"budget","code":402}}'
    headers = Headers({"retry-after": ["5"], "x-generation-id": ["gen-1"]})
    waits = PROVIDER.parse_error_response(402, headers, body)
    assert isinstance(waits, RateLimited)
    assert waits.request_id == "gen-1"
    assert isinstance(PROVIDER.parse_error_response(402, Headers(), body), QuotaExhausted)


def test_an_empty_reasoning_goes_back_too() -> None:
    message = message_of(sent(delta(reasoning_content="", content="x"), delta("tool_calls", tool_calls=[CALL])))
    assert PROVIDER.encode_message(message)[0]["reasoning_content"] == ""
    assert message.reasoning == ""
