"""How one response is read while it comes."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import ProtocolError, StreamBroken, get_provider
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.messages import Message
from mud_assistant.llm.response import FinishReason

COMMENT = b": still here\n\n"


def reading(clock: Clock, progress_seconds: float = 300.0) -> AnswerSink:
    provider = get_provider("local", "http://127.0.0.1:1", "m")
    sink = AnswerSink(provider, ["look"], lambda: "made", None, clock=clock, progress_seconds=progress_seconds)
    sink.head(200, Headers({"content-type": ["text/event-stream"]}))
    return sink


def chunk(text: str) -> bytes:
    return b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % text.encode()


def test_52_a_compressed_body_that_nobody_asked_for_is_a_clear_error() -> None:
    sink = reading(Clock())
    with pytest.raises(ProtocolError, match="gzip"):
        sink.head(200, Headers({"content-encoding": ["gzip"]}))


@pytest.mark.parametrize("role", [b"", b'"role":"assistant",', b'"role":null,'])
def test_68_a_role_may_be_missing_or_on_every_delta(role: bytes) -> None:
    sink = reading(Clock())
    for text in (b"a", b"b"):
        sink.data(b'data: {"choices":[{"delta":{%s"content":"%s"}}]}\n\n' % (role, text))
    sink.data(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n')
    message, finish = sink.accumulator.message()
    assert isinstance(message, Message)
    assert (message.text, finish) == ("ab", FinishReason.STOP)


def test_91_signs_of_life_keep_an_answer_waiting_but_not_for_ever() -> None:
    clock = Clock()
    sink = reading(clock)
    for _ in range(5):
        sink.data(COMMENT)
        clock.advance(60)
    sink.data(chunk("x"))
    for _ in range(5):
        clock.advance(60)
        assert sink.data(COMMENT) is False
    clock.advance(1)
    with pytest.raises(StreamBroken, match="signs of life") as caught:
        sink.data(COMMENT)
    assert caught.value.partial == "x"
