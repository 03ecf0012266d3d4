"""Signs of life in a stream: between two events and never inside one, each time nothing came for long."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock

from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.assistant.gateway.site import ASKED_AT
from mud_assistant.assistant.gateway.streaming import HTTP_OK, PING_SECONDS, AnswerStream, RenderingListener
from mud_assistant.llm import FinishReason, LLMResponse, Usage, assistant
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.messages import Text
from mud_assistant.llm.response import CallDelta, StreamEvent, TextDelta
from tests.effort import times

PING, OPENING, END = b": alive\n\n", b"data: begin\n\n", b"data: [DONE]\n\n"
#: What a server sends: whole events and pieces of them.
PIECES = (b"data: one\n\n", b"data: tw", b"o\n", b"\n", b"data: three\n\ndata: fo", b"ur\n\n")


class Sent:
    """Takes down what is sent to a client."""

    def __init__(self) -> None:
        self.is_started, self.is_over, self.body = False, False, b""

    def start(self, status: int, headers: Any) -> None:
        assert not self.is_started
        assert (status, headers) == (HTTP_OK, [(b"x", b"y")])
        self.is_started = True

    def write(self, data: bytes) -> None:
        assert self.is_started
        assert not self.is_over
        self.body += data

    def finish(self) -> None:
        assert not self.is_over
        self.is_over = True


@settings(max_examples=times(32), deadline=None)
@given(st.lists(st.integers(0, 25), min_size=len(PIECES) + 1, max_size=len(PIECES) + 1), st.integers(0, len(PIECES)))
def test_a_sign_of_life_stands_between_two_events(pauses: list[int], whole: int) -> None:
    clock, sent = Clock(), Sent()
    stream = AnswerStream(cast("ClientResponse", sent), clock, lambda: [(b"x", b"y")], lambda: PING, lambda: OPENING)
    expected, told, silent = b"", b"", 0.0
    for pause, piece in zip(pauses, (*PIECES[:whole], b""), strict=False):
        for _ in range(pause):
            clock.advance(1)
            silent += 1
            if silent >= PING_SECONDS:
                silent = 0.0
                if not told or told.endswith(b"\n\n"):
                    expected += PING if expected else OPENING + PING
                    told = told or OPENING
        assert sent.body == expected
        assert stream.has_begun == stream.is_opened == bool(expected)
        if piece:
            silent = 0.0
            expected += piece if expected else OPENING + piece
            told += piece
            assert stream.write(piece) is None
    if told.endswith(b"\n\n") or not told:
        stream.finish(END)
        expected += END if expected else OPENING + END
    else:  # it broke off inside an event
        stream.fail(END, b"\n\n")
        expected += b"\n\n" + END
    clock.advance(10 * PING_SECONDS)
    assert sent.body == expected
    assert sent.is_over
    assert clock.getDelayedCalls() == []


#: Beginnings of which nothing can be sent yet: of a thought, and of the name of a tool.
BEGUN: dict[str, StreamEvent] = {
    "a thought": TextDelta("<thi"),
    "a name": CallDelta(index=0, id="call.1", name="lo"),
}


def answer(path: str, *attempts: StreamEvent) -> bytes:
    """What a client gets whose model began an answer in vain, and then gave one."""
    clock, sent = Clock(), Sent()
    asked = AskedCall("wise", True, (), body={"model": "wise", "prompt": "Who is it?"})
    renderer = ASKED_AT[path].renderer(asked, AnswerHead("1", 0, 10))
    stream = AnswerStream(cast("ClientResponse", sent), clock, lambda: [(b"x", b"y")], renderer.ping, renderer.begin)
    listener = RenderingListener(renderer, stream)
    for event in attempts:
        listener.begins(text_is_answer=True)
        listener(event)
        assert not listener.acted
    listener.begins(text_is_answer=True)
    listener(TextDelta("It is Ann."))
    stream.finish(renderer.finish(LLMResponse(assistant(Text("It is Ann.")), FinishReason.STOP, Usage(10, 3), "", "")))
    return sent.body


@pytest.mark.parametrize("begun", BEGUN)
@pytest.mark.parametrize("path", ASKED_AT)
def test_an_attempt_of_which_nothing_was_sent_is_forgotten(path: str, begun: str) -> None:
    assert b"It is Ann." in answer(path)
    assert answer(path, BEGUN[begun]) == answer(path)
