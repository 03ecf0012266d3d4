"""Answers and lists rendered for Ollama's clients, and read by Ollama's own library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import ollama
import orjson
import pytest
from twisted.internet.task import Clock

from mud_assistant.llm.dialects.dialect import OfferedModelName
from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.dialects.ollama.dialect import OllamaDialect
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    LLMResponse,
    ReasoningDelta,
    TextDelta,
    Usage,
    UsageSeen,
)
from tests.llm.dialects.replayed import (
    ANSWERS,
    HEAD,
    Heard,
    added_up,
    asked_by,
    calls_of,
    heard,
    in_pieces,
    row_ids,
    streamed,
)
from tests.llm.dialects.test_odd_streams import CALL, ODD
from tests.llm.dialects.test_recorded_streams import Row

DIALECT = OllamaDialect()
BODY: dict[str, JSON] = {"model": "alias", "messages": [{"role": "user", "content": "hi"}]}


class _Chunks(httpx.SyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return in_pieces(self._body)


class _Serving(httpx.BaseTransport):
    """A server that answers with the given bytes at random splits."""

    body = b""
    status = 200

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self.status, stream=_Chunks(self.body), request=request)


SERVING = _Serving()
CLIENT = ollama.Client(host="http://gateway.invalid", transport=SERVING)


def rendered(answer: Heard, body: dict[str, JSON] | None = None) -> bytes:
    return streamed(DIALECT.renderer(asked_by(DIALECT, body or BODY), HEAD), answer)


def served(body: bytes, status: int = 200) -> ollama.Client:
    SERVING.body, SERVING.status = body, status
    return CLIENT


def read_stream(stream: bytes) -> tuple[str, str, list[tuple[str, Any]], Any]:
    """What Ollama's client reads: text, thinking, calls, and the last record."""
    text, thinking, calls, last = "", "", list[tuple[str, Any]](), None
    for record in served(stream).chat("m", [], stream=True):
        text += record.message.content or ""
        thinking += record.message.thinking or ""
        calls += [(call.function.name, call.function.arguments) for call in record.message.tool_calls or ()]
        last = record
    return text, thinking, calls, last


def check_last(last: Any, answer: LLMResponse) -> None:
    assert last.done
    assert last.model == "alias"
    assert last.done_reason == ("length" if answer.finish_reason is FinishReason.LENGTH else "stop")
    assert last.prompt_eval_count == (answer.usage.input_tokens or 0)
    assert last.eval_count == (answer.usage.output_tokens or 0)


@pytest.mark.skipif(not ANSWERS, reason="no recordings")
@pytest.mark.parametrize("row", ANSWERS, ids=row_ids(ANSWERS))
async def test_every_recording_reaches_the_client_as_it_was(row: Row) -> None:
    """Read whole and at random splits, told as a stream and as one document."""
    answer = await heard(row)
    for same in (answer, await heard(row, in_pieces=True)):
        text, thinking, calls, last = read_stream(rendered(same))
        assert text.strip() == same.response.content.strip()
        assert thinking.strip() == same.response.reasoning.strip()
        assert calls == calls_of(same.response)
        check_last(last, same.response)
    whole = served(DIALECT.renderer(asked_by(DIALECT, BODY), HEAD).whole(answer.response)).chat("m", [])
    assert (whole.message.content or "") == answer.response.content
    assert (whole.message.thinking or "") == answer.response.reasoning
    told = [(call.function.name, call.function.arguments) for call in whole.message.tool_calls or ()]
    assert told == calls_of(answer.response)
    check_last(whole, answer.response)


@pytest.mark.parametrize("odd", ODD)
def test_calls_stay_whole_in_any_order(odd: str) -> None:
    events, expected = ODD[odd]
    answer = added_up(*events, tools=CALL.tools)
    text, _, calls, _ = read_stream(streamed(DIALECT.renderer(CALL, HEAD), answer))
    assert calls == expected
    assert text.strip() == answer.response.content.strip()


def test_each_line_is_one_object_and_only_the_last_is_done() -> None:
    answer = added_up(
        ReasoningDelta("hm"),
        TextDelta("a\nb"),
        CallDelta(0, "c1", "get_weather", "{}"),
        UsageSeen(Usage(3, 4)),
        FinishSeen(FinishReason.TOOL_CALLS),
    )
    stream = rendered(answer)
    records = [orjson.loads(line) for line in stream.splitlines()]
    assert [record["done"] for record in records] == [False, False, False, True]
    assert {record["model"] for record in records} == {"alias"}
    assert records[0]["message"] == {"role": "assistant", "content": "", "thinking": "hm"}
    assert records[2]["message"]["tool_calls"] == [
        {"id": "c1", "function": {"index": 0, "name": "get_weather", "arguments": {}}}
    ]
    assert records[0]["created_at"].endswith("Z")


def test_thinking_that_was_not_wanted_is_left_out() -> None:
    answer = added_up(ReasoningDelta("hm"), TextDelta("Hi"))
    body: dict[str, JSON] = {**BODY, "think": False}
    assert read_stream(rendered(answer, body))[:2] == ("Hi", "")
    assert b"hm" not in DIALECT.renderer(asked_by(DIALECT, body), HEAD).whole(answer.response)


def test_durations_are_those_of_the_clock_in_nanoseconds() -> None:
    clock = Clock()
    renderer = OllamaDialect(clock.seconds).renderer(asked_by(DIALECT, BODY), HEAD)
    answer = added_up(TextDelta("Hi"))
    clock.advance(2)
    stream = renderer.begin() + renderer.feed(answer.events[0])
    clock.advance(1)
    *_, last = read_stream(stream + renderer.finish(answer.response))
    assert (last.total_duration, last.prompt_eval_duration, last.eval_duration) == (3 * 10**9, 2 * 10**9, 10**9)


def test_nothing_stands_before_the_answer_and_there_is_no_sign_of_life() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    assert renderer.begin() == renderer.ping() == b""


def test_a_stream_that_fails_says_why_in_its_last_line() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    stream = renderer.feed(TextDelta("Hi")) + renderer.fail(Failure(FailureKind.PROVIDER, "it broke off"))
    with pytest.raises(ollama.ResponseError, match="it broke off"):
        read_stream(stream)


def test_an_error_is_read_with_its_status() -> None:
    status, body = DIALECT.error_body(Failure(FailureKind.NO_MODEL, "there is no model 'm'", "model"))
    with pytest.raises(ollama.ResponseError, match="there is no model") as caught:
        served(orjson.dumps(body), status).chat("m", [])
    assert caught.value.status_code == 404


def test_models_are_listed_for_the_client() -> None:
    models = [OfferedModelName("town", 1_790_000_000, 8192), OfferedModelName("small", 0)]
    listed = served(orjson.dumps(DIALECT.models_body(models))).list()
    assert [model.model for model in listed.models] == ["town", "small"]
    assert len({model.digest for model in listed.models}) == 2


def test_a_model_is_described_for_the_client() -> None:
    model = OfferedModelName("town", 1_790_000_000, 8192, has_tools=True, sees_images=True)
    shown = served(orjson.dumps(DIALECT.model_body(model))).show("town")
    assert shown.capabilities == ["completion", "tools", "vision"]
    info = dict(shown.modelinfo or {})
    assert info[f"{info['general.architecture']}.context_length"] == 8192
    plain = DIALECT.model_body(OfferedModelName("small", 0, has_tools=False))
    assert plain["capabilities"] == ["completion"]
    assert not any(key.endswith("context_length") for key in plain["model_info"])  # type: ignore[union-attr]
