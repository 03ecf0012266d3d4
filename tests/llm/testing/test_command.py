"""Fakes for people and over sockets: the sage, `serve`, the command line."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import closing
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.error import ConnectionLost
from twisted.internet.protocol import Factory, ProcessProtocol, Protocol, connectionDone
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.web.client import Agent, FileBodyProducer, ResponseNeverReceived

from mud_assistant.llm.messages import JSON
from mud_assistant.llm.testing import (
    Call,
    DieMidStream,
    FakeChat,
    FakeOllama,
    Hang,
    RecordedRequest,
    Reply,
    serve,
    simple_sage,
)
from mud_assistant.llm.testing.__main__ import BRAINS, FAULTS, main

ROOT = Path(__file__).parents[3]
ASKED = orjson.dumps({"model": "sage", "stream": True, "messages": [{"role": "user", "content": "Where is the well?"}]})


def sage(content: JSON, *tools: str, then: str = "user") -> Reply:
    """What the sage makes of a conversation of two messages."""
    messages: list[JSON] = [{"role": "user", "content": content}, {"role": then, "content": ""}]
    offered: list[JSON] = [{"type": "function", "function": {"name": name}} for name in tools]
    return simple_sage(RecordedRequest("POST", "/", {}, {"messages": messages, "tools": offered}, b""))


def test_the_sage_calls_say_with_what_it_was_asked() -> None:
    reply = sage("It rains.\nAnn says: Where is the well?", "look", "say")
    assert reply == Reply(calls=(Call("say", {"text": "You asked: Ann says: Where is the well?"}, "call_sage_2"),))


def test_the_sage_writes_the_call_as_json_without_tools() -> None:
    call = orjson.loads(sage("Where is the well?").text)
    assert (call["tool"], call["parameters"]) == ("say", {"text": "You asked: Where is the well?"})
    assert call["reasoning"]


def test_the_sage_has_nothing_to_add_to_a_result() -> None:
    assert sage("Hi", "say", then="tool") == Reply("Nothing to add.")


def test_the_sage_speaks_plainly_without_a_tool_to_say() -> None:
    parts: list[JSON] = [{"type": "text", "text": "Hello\n\nWho are "}, {"type": "text", "text": "you?\n"}]
    assert sage(parts, "look") == Reply("You asked: Who are you?")
    assert sage("", "look") == Reply("You asked nothing.")


async def test_a_reset_comes_after_the_bytes_before_it(reactor: Any) -> None:
    """Over a real socket: a reset drops what was not sent yet."""
    ended: Deferred[bytes] = Deferred()
    reasons: list[Failure] = []

    class Asking(Protocol):
        def connectionMade(self) -> None:
            self.received = b""
            head = f"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: {len(ASKED)}\r\n\r\n"
            assert self.transport is not None
            self.transport.write(head.encode() + ASKED)

        def dataReceived(self, data: bytes) -> None:
            self.received += data

        def connectionLost(self, reason: Failure = connectionDone) -> None:
            reasons.append(reason)
            ended.callback(self.received)

    fake = FakeOllama(reactor, [DieMidStream(2, Reply("one two three"))])
    async with serve(fake, reactor) as url:
        port = int(url.rpartition(":")[2])
        await TCP4ClientEndpoint(reactor, "127.0.0.1", port).connect(Factory.forProtocol(Asking))
        received = await ended
    assert received.count(b'"done":false') == 2
    assert not received.endswith(b"0\r\n\r\n")
    assert reasons[0].check(ConnectionLost)


async def test_serving_ends_with_hanging_connections_closed(reactor: Any) -> None:
    arrived: Deferred[None] = Deferred()

    def brain(_request: RecordedRequest) -> Hang:
        reactor.callLater(0, arrived.callback, None)
        return Hang()

    fake = FakeChat(reactor, brain)
    async with serve(fake, reactor) as url:
        body = FileBodyProducer(BytesIO(ASKED))
        sent = Agent(reactor).request(b"POST", f"{url}/v1/chat/completions".encode(), None, body)
        await arrived
    with pytest.raises(ResponseNeverReceived):
        await sent
    assert fake.abandoned == fake.chats


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "mud-assistant trial" in told
    assert all(name in told for name in (*FAULTS, *BRAINS))
    assert "OBEY(" in told


@pytest.mark.parametrize("name", BRAINS)
def test_every_brain_of_the_command_line_answers(name: str) -> None:
    options = argparse.Namespace(always=False, oldest=False, one_by_one=False, way="native")
    said: list[JSON] = [{"role": "user", "content": 'Ann says: "Sage, OBEY(look)"'}]
    offered: list[JSON] = [{"type": "function", "function": {"name": name}} for name in ("say", "look")]
    step = BRAINS[name](options)(RecordedRequest("POST", "/", {}, {"messages": said, "tools": offered}, b""))
    assert isinstance(step, Reply)
    assert [call.name for call in step.calls] == ["look" if name == "obedient" else "say"]


class Served(ProcessProtocol):
    """A fake in a process of its own: `url` fires with what it printed, `ended` with its exit status."""

    def __init__(self) -> None:
        self.url: Deferred[str] = Deferred()
        self.ended: Deferred[int] = Deferred()
        self.complaint = b""

    def outReceived(self, data: bytes) -> None:
        self.url.callback(data.decode().strip())

    def errReceived(self, data: bytes) -> None:
        self.complaint += data

    def processEnded(self, reason: Failure) -> None:
        self.ended.callback(getattr(reason.value, "exitCode", -1))


def post(port: int | None, path: str) -> bytes:
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", path, ASKED)
        return connection.getresponse().read()


def start(reactor: Any, *arguments: str) -> tuple[Served, Any]:
    served = Served()
    command = [sys.executable, "-m", "mud_assistant.llm.testing", *arguments]
    return served, reactor.spawnProcess(served, sys.executable, command, os.environ, str(ROOT))


@pytest.mark.parametrize(("protocol", "path"), [("ollama", "/api/chat"), ("chat", "/chat/completions")])
async def test_a_fake_serves_people_until_interrupted(reactor: Any, protocol: str, path: str) -> None:
    served, process = start(reactor, protocol)
    try:
        url = urlsplit(await served.url)
        answer = await deferToThread(post, url.port, f"{url.path}{path}")
    finally:
        process.signalProcess("TERM")
        status = await served.ended
    assert b"Where" in answer
    assert status == 0
    assert served.complaint == b""


async def test_a_taken_port_is_said_in_one_line(reactor: Any) -> None:
    async with serve(FakeOllama(reactor, []), reactor) as url:
        served, _ = start(reactor, "ollama", "--port", url.rpartition(":")[2])
        assert await served.ended == 1
    assert served.complaint.startswith(b"cannot serve: ")
    assert served.complaint.count(b"\n") == 1


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_of_the_command_line_is_one(fault: str) -> None:
    assert FAULTS[fault](Reply("fine")) != Reply("fine")
