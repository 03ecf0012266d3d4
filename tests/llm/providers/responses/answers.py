"""Answers of the Responses API as bytes, and what our parser makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import FinishReason, Message, Usage
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.providers.responses.provider import ResponsesProvider

Event = dict[str, Any]


def sse(*events: Event) -> bytes:
    """The events as OpenAI writes them, each with its name."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), orjson.dumps(event)) for event in events)


def event(kind: str, index: int | None = 0, **more: Any) -> Event:
    at = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **at, **more}


def done(*output: Any, status: str = "completed", **more: Any) -> Event:
    """The event that ends a stream, with these items."""
    return {"type": f"response.{status}", "response": {"status": status, "output": list(output), **more}}


def text_item(text: str, item_id: str = "msg_1", **more: Any) -> Event:
    part = {"type": "output_text", "text": text, "annotations": more.pop("annotations", [])}
    return {"type": "message", "id": item_id, "role": "assistant", "content": [part], **more}


def call_item(arguments: Any, call_id: str = "call_1", item_id: str = "fc_1", name: str = "look") -> Event:
    return {"type": "function_call", "id": item_id, "call_id": call_id, "name": name, "arguments": arguments}


def thought(sealed: str | None = "sealed:1", item_id: str = "rs_1", **more: Any) -> Event:
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": sealed, **more}


def read(body: bytes, cuts: Sequence[int] = (), status: int = 200) -> tuple[Message, FinishReason, Usage]:
    """What the parser makes of the body, cut at these places. Raises what it raises."""
    sink = AnswerSink(
        ResponsesProvider(model="m"), ("look", "say"), iter(map(str, range(9))).__next__, None, clock=Clock()
    )
    kind = "text/event-stream" if not body.startswith(b"{") else "application/json"
    sink.head(status, Headers({"Content-Type": [kind]}))
    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        sink.data(body[start:end])
    result: list[Any] = []
    Deferred.fromCoroutine(sink.result()).addBoth(result.append)
    if hasattr(result[0], "raiseException"):
        result[0].raiseException()
    return *result[0].message(), result[0].usage
