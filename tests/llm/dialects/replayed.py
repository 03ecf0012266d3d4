"""Recorded answers, as the events of the provider's own parsers, rendered for a client of a dialect."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import orjson
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import LLMProvider, get_provider
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import JSON, JSONObject, ToolSpec
from mud_assistant.llm.request import acting
from mud_assistant.llm.response import LLMResponse, StreamEvent
from mud_assistant.llm.wire.accumulate import Accumulator
from tests.llm.dialects import test_recorded_streams as others
from tests.llm.dialects.test_recorded_streams import Row, tools_of
from tests.llm.providers.test_recorded import split

HEAD = AnswerHead("0123456789abcdef01234567", 1_790_000_000, 12)
SEED = 20261123
_RESPONSES = others.RECORDED.with_name("responses.jsonl")
_LINES = _RESPONSES.read_bytes().splitlines() if _RESPONSES.exists() else []
#: Answers of the Responses API itself, where a provider of it is there to read them.
_FOREIGN = [row for row in [*others.ALL, *map(orjson.loads, _LINES)] if row["api"] == "responses"]
_IS_READ = find_spec("mud_assistant.llm.providers.responses") is not None
ANSWERS = [*others.ROWS, *[row for row in _FOREIGN if _IS_READ and not row["expected"]["error"]]]
WEATHER = ToolSpec("get_weather", "the weather", {"type": "object", "properties": {"city": {"type": "string"}}})


def provider_of(row: Row) -> LLMProvider:
    if row["api"] == "responses":
        return get_provider("openai-responses", "http://127.0.0.1:1/v1", "m")
    return others.provider_of(row)


@dataclass
class Heard:
    """The events of an answer, and the answer they add up to."""

    events: Sequence[StreamEvent]
    response: LLMResponse


async def heard(row: Row, *, in_pieces: bool = False) -> Heard:
    """What the provider's parsers make of a recorded body, without a network."""
    provider = provider_of(row)
    events: list[StreamEvent] = []
    names = [tool.name for tool in tools_of(row)]
    sink = AnswerSink(provider, names, iter(map(str, range(99))).__next__, acting(events.append), clock=Clock())
    kind = row["response_headers"].get("content-type", "")
    sink.head(row["response_status"], Headers({"Content-Type": [kind]} if kind else {}))
    body = row["response_body"]["text"].encode()
    for piece in split(body, random.Random(SEED)) if in_pieces else [body]:  # noqa: S311
        if sink.data(piece) is True:
            break
    answer = await sink.result()
    message, finish = answer.message()
    return Heard(events, LLMResponse(message, finish, answer.usage, provider.name, answer.model))


def added_up(*events: StreamEvent, tools: Sequence[ToolSpec] = (WEATHER,)) -> Heard:
    """An answer of these events."""
    answer = Accumulator([tool.name for tool in tools], iter(map(str, range(99))).__next__)
    for event in events:
        answer.feed(event)
    message, finish = answer.message()
    return Heard(events, LLMResponse(message, finish, answer.usage, "local", "m"))


def asked_by(dialect: Dialect, body: Mapping[str, JSON]) -> AskedCall:
    """The call that a request of the dialect asks for."""
    return dialect.read(body, {})


def streamed(renderer: AnswerRenderer, answer: Heard) -> bytes:
    """The whole stream of an answer."""
    pieces = [renderer.begin()]
    pieces += [renderer.feed(event) for event in answer.events]
    return b"".join([*pieces, renderer.finish(answer.response)])


def calls_of(response: LLMResponse) -> list[tuple[str, JSONObject]]:
    return [(call.name, call.arguments) for call in response.tool_calls]


def in_pieces(body: bytes) -> Iterator[bytes]:
    """The bytes at random splits, the same in every run."""
    return split(body, random.Random(SEED))  # noqa: S311


def row_ids(rows: Sequence[Row]) -> list[str]:
    return [f"{row['vendor']}-{row['name'][-40:]}" for row in rows]
