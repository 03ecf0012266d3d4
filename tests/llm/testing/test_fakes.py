"""What both fakes do with a script: bytes, faults, the record, virtual time. In memory, without sockets."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from mud_assistant.llm.testing import (
    Call,
    DieMidStream,
    EndEarly,
    ErrorInStream,
    FakeChat,
    FakeOllama,
    FakeResponses,
    FakeServer,
    Garbage,
    Hang,
    HttpError,
    Raw,
    RecordedRequest,
    RefuseTools,
    Reply,
    Script,
)
from mud_assistant.llm.testing.script import pieces
from mud_assistant.resilience.testing.client_connection import ClientConnection
from mud_assistant.resilience.testing.fault_server import FaultServer

THREE = Reply("one two three", chunk_size=None, usage=(7, 3))
ASKED = {"model": "sage", "stream": True, "messages": [{"role": "user", "content": "Where is the well?"}]}
TOOLS = [{"type": "function", "function": {"name": "say", "parameters": {"type": "object"}}}]
OLLAMA, CHAT = "/api/chat", "/v1/chat/completions"


class Taken(StringTransport):
    """A client that takes all it can have as soon as somebody looks."""

    def setTcpNoDelay(self, enabled: bool) -> None:  # noqa: N802  (Twisted's name)
        """Do as a socket does."""

    def value(self) -> bytes:
        taken = -1
        while self.producer is not None and taken != self.io.tell():
            taken = self.io.tell()
            self.producer.resumeProducing()
        return bytes(self.io.getvalue())


class Wire:
    """One connection to a fake, in memory."""

    def __init__(self, fake: FakeServer, clock: Clock) -> None:
        self.transport = Taken()  # type: ignore[no-untyped-call]  # StringTransport has no types
        self.channel = ClientConnection(FaultServer(clock, fake))
        self.channel.makeConnection(self.transport)  # type: ignore[no-untyped-call]  # the same

    def ask(self, path: str, body: object, *headers: str) -> Wire:
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        head = "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(raw)}", *headers])
        self.channel.dataReceived(head.encode() + b"\r\n\r\n" + raw)
        return self

    @property
    def head(self) -> str:
        return str(self.transport.value().partition(b"\r\n\r\n")[0], "ascii")

    @property
    def status(self) -> int:
        return int(self.head.split()[1])

    @property
    def body(self) -> bytes:
        return bytes(self.transport.value().partition(b"\r\n\r\n")[2])

    @property
    def chunks(self) -> list[bytes]:
        """The chunks of a chunked body; the last one is empty when the body has ended."""
        found, rest = [], self.body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            found.append(rest[:length])
            rest = rest[length + 2 :]
        return found


def fakes(script: Script) -> list[tuple[FakeServer, Clock, str]]:
    """Both fakes with the same script, their clocks and their chat paths."""
    one, other = Clock(), Clock()
    return [(FakeOllama(one, script), one, OLLAMA), (FakeChat(other, script), other, CHAT)]


def played(script: Script, body: object = ASKED) -> list[Wire]:
    """The script's first step played by both fakes."""
    return [Wire(fake, clock).ask(path, body) for fake, clock, path in fakes(script)]


def test_ollama_streams_byte_for_byte() -> None:
    clock = Clock()
    clock.advance(1_767_225_600.25)
    reply = Reply("Hi <you>", reasoning="Hm.", calls=(Call("say", {"text": "Hi"}),), usage=(7, 3))
    wire = Wire(FakeOllama(clock, [reply]), clock).ask(OLLAMA, ASKED)
    head = b'{"model":"sage","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":'
    assert wire.chunks == [
        head + b'"","thinking":"Hm."},"done":false}\n',
        head + b'"Hi"},"done":false}\n',
        head + rb'" \u003cyou\u003e"},"done":false}' + b"\n",
        head + b'"","tool_calls":[{"function":{"index":0,"name":"say","arguments":{"text":"Hi"}}}]},"done":false}\n',
        head + b'""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3,'
        b'"total_duration":82845678,"load_duration":12345678,"prompt_eval_duration":10500000,"eval_duration":60000000}\n',
        b"",
    ]
    assert "Content-Type: application/x-ndjson" in wire.head


def test_chat_streams_byte_for_byte() -> None:
    clock = Clock()
    reply = Reply("Hi you", calls=(Call("say", {"text": "Hi"}),), chunk_size=4, usage=(7, 3))
    body = {**ASKED, "stream_options": {"include_usage": True}}
    wire = Wire(FakeChat(clock, [reply], comment="WAIT"), clock).ask(CHAT, body)
    head = b': WAIT\n\ndata: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":0,"model":"sage","choices":['
    tail = b',"finish_reason":null}],"usage":null}\n\n'
    delta = head + b'{"index":0,"delta":'
    fragment = delta + b'{"tool_calls":[{"index":0,"function":{"arguments":'
    assert wire.chunks == [
        delta + b'{"role":"assistant","content":""}' + tail,
        delta + b'{"content":"Hi y"}' + tail,
        delta + b'{"content":"ou"}' + tail,
        delta + b'{"tool_calls":[{"index":0,"id":"call_1_0","type":"function","function":'
        b'{"name":"say","arguments":""}}]}' + tail,
        fragment + rb'"{\"te"}}]}' + tail,
        fragment + rb'"xt\":"}}]}' + tail,
        fragment + rb'"\"Hi\""}}]}' + tail,
        fragment + rb'"}"}}]}' + tail,
        delta + b'{},"finish_reason":"tool_calls"}],"usage":null}\n\n',
        head + b'],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,'
        b'"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}\n\n',
        b": WAIT\n\ndata: [DONE]\n\n",
        b"",
    ]


def test_requests_are_recorded() -> None:
    for fake, clock, path in fakes([THREE]):
        clock.advance(5)
        Wire(fake, clock).ask(path, {**ASKED, "tools": TOOLS}, "Authorization: Bearer planted", "X-Two: a", "X-Two: b")
        [request] = fake.chats
        assert (request.method, request.path, request.at) == ("POST", path, 5)
        assert (request.authorization, request.headers["x-two"]) == ("Bearer planted", "a, b")
        assert (request.model, request.messages, request.tools) == ("sage", ASKED["messages"], TOOLS)
        assert orjson.loads(request.raw) == request.body == {**ASKED, "tools": TOOLS}


def test_a_script_is_used_once_and_its_end_is_said() -> None:
    for fake, clock, path in fakes([THREE]):
        assert fake.remaining == 1
        assert Wire(fake, clock).ask(path, ASKED).status == 200
        assert (fake.remaining, fake.exhausted) == (0, [])
        wire = Wire(fake, clock).ask(path, ASKED)
        assert wire.status == 500
        assert b"script exhausted" in wire.body
        assert fake.exhausted == fake.chats[1:]


def test_a_brain_answers_by_the_messages() -> None:
    def echo(request: RecordedRequest) -> Reply:
        return Reply(request.messages[-1]["content"], chunk_size=100)

    for fake, clock, path in fakes(echo):
        assert b'"content":"Where is the well?"' in Wire(fake, clock).ask(path, ASKED).body
        assert fake.remaining is None


@pytest.mark.parametrize("after", [0, 1, 2])
def test_dying_resets_the_connection_in_mid_body(after: int) -> None:
    for wire, good in zip(played([DieMidStream(after, THREE)]), played([THREE]), strict=True):
        assert wire.chunks == good.chunks[:after]
        assert wire.transport.disconnected


@pytest.mark.parametrize("after", [0, 1, 2])
def test_ending_early_is_clean_for_http_and_has_no_end_mark(after: int) -> None:
    for wire, good in zip(played([EndEarly(after, THREE)]), played([THREE]), strict=True):
        assert wire.chunks == [*good.chunks[:after], b""]
        assert not wire.transport.disconnected


def test_a_fault_never_reaches_the_last_chunk() -> None:
    for wire, good in zip(played([EndEarly(99, THREE)]), played([THREE]), strict=True):
        assert wire.chunks == [*good.chunks[:-2], b""]
    for wire in played([EndEarly(99, THREE)], {**ASKED, "stream": False}):
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(b"".join(wire.chunks))


def test_hanging_before_the_head_says_nothing() -> None:
    for wire in played([Hang("headers")]):
        assert wire.transport.value() == b""


def test_hanging_before_the_body_says_the_head() -> None:
    for wire in played([Hang("body")]):
        assert (wire.status, wire.body) == (200, b"")


def test_hanging_in_mid_body_stays_there() -> None:
    for wire, good in zip(played([Hang("mid", 2, THREE)]), played([THREE]), strict=True):
        assert wire.chunks == good.chunks[:2]
        assert not wire.transport.disconnected


def test_an_error_in_the_stream_is_the_last_thing_said() -> None:
    for wire, good in zip(played([ErrorInStream("boom", 2, THREE)]), played([THREE]), strict=True):
        assert wire.status == 200
        assert wire.chunks[:2] == good.chunks[:2]
        assert b"boom" in wire.chunks[2]
        assert wire.chunks[3:] == [b""]
    for wire in played([ErrorInStream("boom")], {**ASKED, "stream": False}):
        assert wire.status == 500


def test_an_http_error_in_the_servers_shape_with_headers() -> None:
    ollama, chat = played([HttpError(429, "slow down", {"Retry-After": "7"})])
    assert orjson.loads(ollama.body) == {"error": "slow down"}
    expected = {"message": "slow down", "type": "rate_limit_error", "param": None, "code": None}
    assert orjson.loads(chat.body) == {"error": expected}
    for wire in (ollama, chat):
        assert wire.status == 429
        assert "Retry-After: 7" in wire.head


def test_an_http_error_with_bytes_is_sent_as_it_is() -> None:
    for wire in played([HttpError(502, b"<h1>Bad gateway</h1>", {"Content-Type": "text/html"})]):
        assert wire.status == 502
        assert wire.chunks == [b"<h1>Bad gateway</h1>", b""]


def test_raw_chunks_are_sent_as_they_are() -> None:
    for wire in played([Raw(207, {"X-Odd": "yes"}, [b"\xc3", b"\xa9\r", b"\n"])]):
        assert (wire.status, wire.chunks) == (207, [b"\xc3", b"\xa9\r", b"\n", b""])
        assert "X-Odd: yes" in wire.head
    for wire in played([Raw(200, {}, [b"half"], abort=True)]):
        assert wire.chunks == [b"half"]
        assert wire.transport.disconnected


def test_garbage_is_a_200_of_something_else() -> None:
    for wire in played([Garbage()]):
        assert wire.status == 200
        assert "Content-Type: text/html" in wire.head
        assert wire.body.startswith(b"<html>")


def test_tools_are_refused_only_when_offered() -> None:
    for wire in played([RefuseTools(THREE)], {**ASKED, "tools": TOOLS}):
        assert wire.status == 400
        assert b"does not support tools" in wire.body
    for wire in played([RefuseTools(THREE)]):
        assert wire.status == 200


def test_slow_replies_obey_the_clock() -> None:
    slow = replace(THREE, delay_seconds=5, piece_seconds=2)
    for fake, clock, path in fakes([slow]):
        wire = Wire(fake, clock).ask(path, ASKED)
        clock.advance(4.9)
        assert wire.transport.value() == b""
        clock.advance(0.1)
        assert len(wire.chunks) == 1
        clock.advance(2)
        assert len(wire.chunks) == 2
        while wire.chunks[-1] and clock.seconds() < 30:
            clock.advance(2)
        assert wire.chunks[-1] == b""


def test_a_client_that_leaves_is_noted_and_the_clock_is_left_clean() -> None:
    for fake, clock, path in fakes([replace(THREE, piece_seconds=2)]):
        wire = Wire(fake, clock).ask(path, ASKED)
        wire.channel.connectionLost(Failure(ConnectionError()))
        assert fake.abandoned == fake.chats
        assert clock.getDelayedCalls() == []


def test_a_wrong_key_is_a_401_and_uses_no_step() -> None:
    clock = Clock()
    for fake, path in (
        (FakeOllama(clock, [THREE], key="planted"), OLLAMA),
        (FakeChat(clock, [THREE], "planted"), CHAT),
    ):
        for header in ("Authorization: Bearer other", "X-Api-Key: planted"):
            assert Wire(fake, clock).ask(path, ASKED, header).status == 401
        assert fake.remaining == 1
        assert Wire(fake, clock).ask(path, ASKED, "Authorization: Bearer planted").status == 200


@given(st.text(), st.one_of(st.none(), st.integers(1, 5)))
def test_pieces_are_the_text(text: str, size: int | None) -> None:
    found = pieces(text, size)
    assert "".join(found) == text
    assert all(found)


@pytest.mark.parametrize(
    ("item", "status"),
    [
        ({"type": "message", "id": "msg_1", "role": "user", "content": "Where is the well?"}, 200),
        ({"type": "item_reference", "id": "msg_1"}, 404),
    ],
)
def test_an_item_with_an_id_is_taken_and_an_id_alone_is_not(item: dict[str, str], status: int) -> None:
    clock = Clock()
    asked = {"model": "sage", "store": False, "input": [item]}
    assert Wire(FakeResponses(clock, [THREE]), clock).ask("/v1/responses", asked).status == status
