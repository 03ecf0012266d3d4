"""Keys are planted wherever a provider could tell them: none comes out in an answer, a header or the log."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.logger import LogEvent, capturedLogs, formatEvent

from mud_assistant.assistant.gateway.keys import KeyLimits, key_store
from mud_assistant.llm.testing import DieMidStream, ErrorInStream, HttpError, Raw, Reply
from tests.assistant.gateway.asking import LANES, OTHERS, PATHS, SPEAKERS, ask, body_of, get
from tests.assistant.gateway.http.reached import until
from tests.assistant.gateway.standing import Standing, reactor, standing

KEY = "sk-planted-0123456789abcdefghijklmnopqrstuv"
#: A secret of the owner's for another server, which nobody would take for a key by its form.
OTHER = "nine-blind-mice-0123456789-under-the-mill"
FACES: dict[str, Any] = {
    "a refused key": HttpError(401, f"Incorrect API key provided: {KEY}."),
    "a forbidden one": HttpError(403, f"key {KEY} is blocked"),
    "no credit": HttpError(402, f"the account of {KEY} has no credit"),
    "too many": HttpError(429, f"{KEY}: slow down", {"x-account-key": KEY, "retry-after": "2"}),
    "a failure": HttpError(500, f"https://api.example/?key={KEY} failed", {"location": f"https://x/?key={KEY}"}),
    "a page of a proxy": HttpError(502, f"<html>Bearer {KEY}</html>".encode(), {"set-cookie": f"k={KEY}"}),
    "a refusal": HttpError(400, f"'temperature' is not allowed for {KEY}"),
    "an error in the stream": ErrorInStream(f"the key {KEY} ran out", reply=Reply("One two three.")),
    "another path": HttpError(404, f"no model at https://x/{KEY}/v1"),
    "a header": Raw(200, {"content-type": "application/json", "x-api-key": KEY, "openai-organization": KEY}, [b"{}"]),
    "a broken stream": DieMidStream(2),
}  # fmt: skip


def text_of(log: Sequence[LogEvent]) -> str:
    """All that was logged, as text and with every value."""
    return "\n".join(f"{formatEvent(event)} {[str(value) for value in event.values()]}" for event in log)


def told(got: Any) -> str:
    return f"{got.headers} {got.text}"


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_provider_s_key_is_never_told(tmp_path: Path, dialect: str, provider: str, *, streams: bool) -> None:
    with capturedLogs() as log:
        for name, face in FACES.items():
            async with standing(tmp_path, [face] * 3, provider=provider, key=KEY) as gateway:
                got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=streams))
                assert KEY not in told(got), name
                assert gateway.fake.chats, name
                assert KEY in str(gateway.fake.chats[0].headers)
                if isinstance(face, HttpError):
                    assert got.status >= 400
    assert KEY not in text_of(log)


@pytest.mark.parametrize(("dialect", "provider"), OTHERS.items())
@pytest_twisted.ensureDeferred
async def test_no_other_key_is_told_at_the_end_of_a_broken_stream(tmp_path: Path, dialect: str, provider: str) -> None:
    said = Reply("The well lies north of the mill, past the old oak.")
    face = ErrorInStream(f"the key {OTHER} ran out", 6, said)
    async with standing(tmp_path, [face], provider=provider) as gateway:
        gateway.service.config.secrets.add(OTHER)
        got = await ask(gateway, PATHS[dialect], body_of(dialect))
        assert got.status == 200
        assert "[key] ran out" in got.text
        assert OTHER not in told(got)


@pytest_twisted.ensureDeferred
async def test_a_virtual_key_is_never_logged_nor_sent_on(tmp_path: Path) -> None:
    with capturedLogs() as log:
        async with standing(tmp_path, [Reply("Here."), HttpError(500), Reply("There.")]) as gateway:
            secret = key_of(gateway, "laptop")
            await until(reactor, lambda: gateway.gateway.has_keys)
            wrong = "mak_0123456789abcdef_" + "w" * 43
            for headers in (
                {"authorization": f"Bearer {secret}"},
                {"x-api-key": secret},
                {"authorization": f"Bearer {secret}", "x-api-key": secret},
                {"x-api-key": wrong},
                {"authorization": f"Basic {secret}"},
            ):
                got = await ask(gateway, PATHS["chat"], body_of("chat"), **headers)
                assert secret not in told(got)
                assert wrong not in told(got)
            got = await get(gateway, f"/v1/models/{secret}", authorization=f"Bearer {secret}")
            assert secret not in text_of(log)
            assert wrong not in text_of(log)
            assert not any(secret in f"{request.headers}{request.raw!r}" for request in gateway.fake.requests)
            assert secret not in (tmp_path / "gateway-keys.json").read_text()


def key_of(gateway: Standing, name: str, limits: KeyLimits | None = None) -> str:
    """Make a key in the file of a running gateway, which knows it a second later."""
    config = gateway.service.config
    store = key_store(config.settings.gateway, config.folder)
    return store.add(name, limits or KeyLimits(), config.wall(), secrets.token_bytes)


#: How the key may stand in the answer of a provider, so that a reader does not see a difference.
DISGUISES = {
    "as it is": KEY,
    "a space without width": "\u200b".join(KEY),
    "one joiner": f"{KEY[:9]}\u2060{KEY[9:]}",
    "an escaped space": "\\u200b".join(KEY),
    "a soft hyphen": f"{KEY[:20]}\u00ad{KEY[20:]}",
    "marks": f"{KEY[:5]}\u0301{KEY[5:]}",
    "tags": "\U000e0041".join(KEY),
    "escapes": "".join(f"\\u{ord(sign):04x}" for sign in KEY),
}
SAID = {
    "chat": ('data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
             '{"choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}]}'),
    "ollama": ('{"model":"sage","message":{"role":"assistant","content":"%s"},"done":true,"done_reason":"stop"}\n',
               '{"model":"sage","message":{"role":"assistant","content":"%s"},"done":true}'),
}  # fmt: skip


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("dialect", SAID)
@pytest_twisted.ensureDeferred
async def test_a_key_that_is_not_seen_as_itself_is_left_out(tmp_path: Path, dialect: str, *, streams: bool) -> None:
    kind = {"chat": "text/event-stream", "ollama": "application/x-ndjson"}[dialect] if streams else "application/json"
    said = SAID[dialect][0 if streams else 1]
    for name, key in DISGUISES.items():
        body = (said % f"It is {key}.").encode()
        for cut in (5, 10_000):
            answer = Raw(200, {"content-type": kind}, [body[at : at + cut] for at in range(0, len(body), cut)])
            async with standing(tmp_path, [answer], provider=SPEAKERS[dialect], key=KEY) as gateway:
                got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=streams))
                assert got.body == (said % "It is [key].").encode(), name


@pytest_twisted.ensureDeferred
async def test_nor_is_it_told_in_an_error(tmp_path: Path) -> None:
    with capturedLogs() as log:
        for key in DISGUISES.values():
            refusal = HttpError(400, f'{{"error":{{"message":"no: {key}"}}}}'.encode())
            async with standing(tmp_path, [refusal], key=KEY) as gateway:
                got = await ask(gateway, PATHS["chat"], body_of("chat", streams=False))
                assert "no: [key]" in told(got)
    assert KEY not in text_of(log)
