"""A provider fails: before its first byte with a status, in the middle in the stream, and never as a clean end."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import orjson
import pytest
import pytest_twisted

from mud_assistant.llm.testing import Call, DieMidStream, EndEarly, ErrorInStream, HttpError, Raw, Reply, Step
from tests.assistant.gateway.asking import LANES, PATHS, SPEAKERS, ask, body_of, events
from tests.assistant.gateway.standing import CLIENTS, standing

LONG = Reply("The well lies north of the mill, past the old oak.")
BREAKS: dict[str, Step] = {
    "reset": DieMidStream(6, LONG),
    "early end": EndEarly(6, LONG),
    "error": ErrorInStream("it fell", 6, LONG),
}


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_stream_that_breaks_ends_as_broken(tmp_path: Path, dialect: str, provider: str, how: str) -> None:
    async with standing(tmp_path, [BREAKS[how]], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect))
        assert got.status == 200
        assert b"The" in got.body
        last = events(got)[-1]
        match dialect:
            case "messages":
                assert (last["type"], got.body.count(b"event: error\n")) == ("error", 1)
                assert b"message_stop" not in got.body
            case "chat":
                assert "error" in last
                assert b"[DONE]" not in got.body
            case "responses":
                assert last["type"] == "response.failed"
                assert b"response.completed" not in got.body
            case _:
                assert isinstance(last["error"], str)
                assert b'"done":true' not in got.body.replace(b" ", b"")


@pytest.mark.parametrize(("dialect", "provider"), SPEAKERS.items())
@pytest_twisted.ensureDeferred
async def test_an_event_that_was_cut_off_is_not_joined_to_the_error(
    tmp_path: Path, dialect: str, provider: str
) -> None:
    first = {
        "chat": b'data: {"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":null}]}\n\n',
        "messages": b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant",'
        b'"content":[],"usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
        "ollama": b'{"model":"sage","message":{"role":"assistant","content":"A"},"done":false}\n',
    }[dialect]
    kind = "application/x-ndjson" if dialect == "ollama" else "text/event-stream"
    for half in (first[: len(first) // 2], first[:-1], b""):
        broken = Raw(200, {"Content-Type": kind}, [first, half], abort=True)
        async with standing(tmp_path, [broken], provider=provider) as gateway:
            got = await ask(gateway, PATHS[dialect], body_of(dialect))
            assert got.body.startswith(first + half)
            told = got.body.removeprefix(first + half)
            assert told.startswith((b"\n", b"data", b"event", b'{"error"'))
            assert "error" in orjson.loads(told.strip().rpartition(b"\n")[2].removeprefix(b"data: "))


#: What a provider says, and what each dialect's clients are told of it.
STATUSES = {
    "too many": (HttpError(429, "slow down", {"retry-after": "7"}), {429}, "7", True),
    "a failure": (HttpError(500), {502}, None, False),
    "no key": (HttpError(401, "bad key"), {502}, None, False),
    "a wrong request": (HttpError(400, "messages: too odd"), {400}, None, False),
}


@pytest.mark.parametrize("what", STATUSES)
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_an_error_before_the_first_byte_has_its_own_status(
    tmp_path: Path, dialect: str, provider: str, what: str, *, streams: bool
) -> None:
    step, statuses, after, retries = STATUSES[what]
    async with standing(tmp_path, [step], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=streams))
        assert got.status in statuses
        assert got.headers.get("retry-after") == after
        assert ("x-should-retry" not in got.headers) == retries
        said = orjson.loads(got.body)
        if dialect == "ollama":
            assert isinstance(said["error"], str)
        elif dialect == "messages":
            assert (said["type"], {"type", "message"} <= said["error"].keys()) == ("error", True)
        else:
            assert {"message", "type", "param", "code"} <= said["error"].keys()
        assert len(gateway.fake.chats) == 1


def _delta(*calls: object, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"tool_calls": calls} if calls else {}, "finish_reason": finish}
    return b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\n"


def _part(index: int, arguments: str, name: str = "", call_id: str = "") -> object:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"index": index, "function": function, **({"id": call_id, "type": "function"} if call_id else {})}


#: Two calls as servers of Chat Completions send them. The places are "mill" and "oak".
STREAMS = {
    "both in one delta": [_delta(_part(0, '{"place":"mill"}', "look", "a"), _part(1, '{"place":"oak"}', "look", "b"))],
    "interleaved": [
        _delta(_part(0, "", "look", "a")), _delta(_part(1, "", "look", "b")), _delta(_part(0, '{"pla')),
        _delta(_part(1, '{"place":')), _delta(_part(0, 'ce":"mill"}')), _delta(_part(1, '"oak"}')),
    ],
    "all of index 0": [
        _delta(_part(0, '{"place":"mill"}', "look", "a")), _delta(_part(0, '{"place":"oak"}', "look", "b")),
    ],
    "without ids": [_delta(_part(0, '{"place":"mill"}', "look")), _delta(_part(1, '{"place":"oak"}', "look"))],
}  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("dialect", ["messages", "responses", "ollama"])
@pytest_twisted.ensureDeferred
async def test_two_calls_of_one_answer_are_two_for_the_client(tmp_path: Path, dialect: str, stream: str) -> None:
    """Each dialect's own client reads what a server of another one streams."""
    chunks = [*STREAMS[stream], _delta(finish="tool_calls"), b"data: [DONE]\n\n"]
    answer = Raw(200, {"Content-Type": "text/event-stream"}, chunks)
    async with standing(tmp_path, [answer, answer]) as gateway:
        for streams in (True, False):
            got = await gateway.in_thread(partial(CLIENTS[dialect], gateway, streams=streams, tools=True))
            assert got.calls == (("look", {"place": "mill"}), ("look", {"place": "oak"}))


@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
@pytest_twisted.ensureDeferred
async def test_two_calls_of_another_provider_are_two_for_a_chat_client(tmp_path: Path, provider: str) -> None:
    reply = Reply("I look.", calls=(Call("look", {"place": "mill"}), Call("look", {"place": "oak"})))
    async with standing(tmp_path, [reply], provider=provider) as gateway:
        got = await gateway.in_thread(lambda: CLIENTS["chat"](gateway, streams=True, tools=True))
        assert got.calls == (("look", {"place": "mill"}), ("look", {"place": "oak"}))
