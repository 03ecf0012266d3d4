"""The judges of this dialect: the published schema, and OpenAI's own client over the bytes of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import openresponses_types.types as published
import orjson
from openai import OpenAI
from openai.types.responses import Response
from pydantic import BaseModel

from tests.llm.dialects.replayed import in_pieces


def _published_events() -> Iterator[tuple[str, type[BaseModel]]]:
    for name, kind in vars(published).items():
        if name.endswith("StreamingEvent"):
            yield next(iter(kind.model_fields["type"].annotation)).value, kind


EVENTS = dict(_published_events())


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """The events of a stream, each with its name in a line of its own, numbered from 0, and the last one ending it."""
    assert stream.endswith(b"\n\n")
    events = []
    for record in stream[:-2].split(b"\n\n"):
        if record.startswith(b":"):
            continue
        named, data = record.split(b"\n")
        event = orjson.loads(data.removeprefix(b"data: "))
        assert named == b"event: " + event["type"].encode()
        events.append(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    ends = [event["type"] in {f"response.{kind}" for kind in ("completed", "incomplete", "failed")} for event in events]
    assert ends == [False] * (len(events) - 1) + [True]
    return events


def judge(events: list[dict[str, Any]]) -> None:
    """Hold every event against the published schema, and the items against the order that clients rely on."""
    for event in events:
        EVENTS[event["type"]].model_validate(event)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    is_open, places, done = None, [], []
    for event in events[2:-1]:
        if event["type"] == "response.output_item.added":
            assert is_open is None
            is_open = event["output_index"]
            places.append(is_open)
        assert event["output_index"] == is_open
        if event["type"] == "response.output_item.done":
            done.append(event["item"])
            is_open = None
    assert places == list(range(len(places)))
    if events[-1]["type"] != "response.failed":
        assert is_open is None
        assert events[-1]["response"]["output"] == done


def judge_whole(body: bytes) -> dict[str, Any]:
    """Hold a response against the published schema."""
    value: dict[str, Any] = orjson.loads(body)
    published.ResponseResource.model_validate(value)
    return value


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return in_pieces(self._body)


class _Answering(httpx2.BaseTransport):
    """A server that answers with the given bytes at random splits."""

    body = b""
    kind = ""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": self.kind}, stream=_Pieces(self.body), request=request)


_ANSWERING = _Answering()
#: One client for all, as it takes long to make.
_CLIENT = OpenAI(
    api_key="none",
    base_url="http://gateway.invalid/v1",
    max_retries=0,
    http_client=httpx2.Client(transport=_ANSWERING),
)


def final_response(stream: bytes) -> tuple[Any, str, dict[int, str]]:
    """What OpenAI's client builds of a stream: the last response, and text and arguments as its deltas said them."""
    text, arguments, last = "", dict[int, str](), None
    _ANSWERING.body, _ANSWERING.kind = stream, "text/event-stream"
    with _CLIENT.responses.stream(model="m", input="hi") as events:
        for event in events:
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.function_call_arguments.delta":
                arguments[event.output_index] = arguments.get(event.output_index, "") + event.delta
            elif event.type in {"response.completed", "response.incomplete"}:
                last = event.response
    return last, text, arguments


def whole_response(body: bytes) -> Response:
    """What OpenAI's client reads of an answer in one document."""
    _ANSWERING.body, _ANSWERING.kind = body, "application/json"
    return _CLIENT.responses.create(model="m", input="hi")
