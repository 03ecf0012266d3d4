"""A model that thinks for long before its first word: clients are shown that the call goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_twisted

from mud_assistant.llm.testing import Hang, Reply
from tests.assistant.gateway.asking import LANES, PATHS, body_of, connect, events, post, whole
from tests.assistant.gateway.http.reached import until
from tests.assistant.gateway.skipping import skipping
from tests.assistant.gateway.standing import Standing, reactor, standing

#: What shows life in each dialect.
SIGNS = {"messages": b"event: ping\n", "chat": b'"delta":{}', "responses": b"\n: "}
LATE = Reply("North of the mill.", delay_seconds=36)


async def begun(gateway: Standing) -> None:
    """Wait until the model is asked."""
    await until(reactor, lambda: gateway.fake.chats)


def signs(dialect: str, received: bytes) -> int:
    body = received.partition(b"\r\n\r\n")[2]
    if dialect == "responses":
        return body.count(b"\n: ")
    return body.count(SIGNS[dialect]) if dialect in SIGNS else 0


@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_signs_of_life_come_at_15_and_30_seconds(tmp_path: Path, dialect: str, provider: str) -> None:
    async with skipping() as clock, standing(tmp_path, [LATE], provider=provider, runs_on=clock) as gateway:
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect), connection="close"))
        await begun(gateway)
        await clock.skip(14)
        assert client.received == b"", "until a sign of life is due, an error still gets a status of its own"
        await clock.skip(2)
        begins = signs(dialect, bytes(client.received))
        assert begins in ((1, 2) if dialect == "messages" else (1,) if dialect in SIGNS else (0,))
        await clock.skip(15)
        assert signs(dialect, bytes(client.received)) == begins + (dialect in SIGNS)
        assert bool(client.received) == (dialect in SIGNS)
        await clock.skip(6)
        got = whole(await client.closed())
        assert b"mill" in got.body
        assert got.status == 200
        if dialect == "messages":
            kinds = [event["type"] for event in events(got)]
            assert kinds.count("message_start") == kinds.count("message_stop") == 1


@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_an_error_before_a_sign_of_life_has_a_status_of_its_own(
    tmp_path: Path, dialect: str, provider: str
) -> None:
    late = Hang("headers")
    async with (
        skipping() as clock,
        standing(tmp_path, [late], provider=provider, runs_on=clock, settings={"call_seconds": 1.2}) as gateway,
    ):
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect), connection="close"))
        await begun(gateway)
        await clock.skip(14)
        got = whole(await client.closed())
        assert got.status == 504
        assert got.headers["x-should-retry"] == "false"
        assert got.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("dialect", "provider"), [lane for lane in LANES if lane[0] != "ollama"])
@pytest_twisted.ensureDeferred
async def test_an_error_after_a_sign_of_life_is_told_in_the_stream(tmp_path: Path, dialect: str, provider: str) -> None:
    seconds = {"call_seconds": 2 if provider == "local" else 20}  # a server of one's own is given ten times as long
    async with (
        skipping() as clock,
        standing(tmp_path, [Hang("headers")], provider=provider, runs_on=clock, settings=seconds) as gateway,
    ):
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect), connection="close"))
        await begun(gateway)
        await clock.skip(24)
        got = whole(await client.closed())
        assert got.status == 200
        last = events(got)[-1]
        assert last.get("error") or last["response"]["error"]
        assert b"[DONE]" not in got.body


@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_model_that_falls_silent_in_the_middle_is_no_clean_end(
    tmp_path: Path, dialect: str, provider: str
) -> None:
    silent = Hang("mid", after=6, reply=Reply("The well lies north of the mill, past the old oak."))
    async with (
        skipping() as clock,
        standing(tmp_path, [silent], provider=provider, runs_on=clock, settings={"call_seconds": 1}) as gateway,
    ):
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect), connection="close"))
        await client.got(b"The")
        for _ in range(20):
            await clock.skip(1)
            if client.is_closed:
                break
        got = whole(await client.closed())
        last = events(got)[-1]
        assert last.get("error") or last["response"]["error"]
        assert gateway.fake.abandoned


#: A model before which the client was shown life, and the one of another lane that answers in its place.
CHAINS = [
    ("messages", "anthropic", "local"),
    ("messages", "local", "anthropic"),
    ("messages", "local", "ollama"),
    ("chat", "local", "anthropic"),
    ("chat", "anthropic", "local"),
    ("responses", "local", "anthropic"),
]


@pytest.mark.parametrize(("dialect", "first", "second"), CHAINS)
@pytest_twisted.ensureDeferred
async def test_the_next_model_goes_on_in_a_stream_that_has_shown_life(
    tmp_path: Path, dialect: str, first: str, second: str
) -> None:
    async with (
        skipping() as clock,
        standing(
            tmp_path,
            [Hang("headers")],
            provider=first,
            fallback=[(second, [Reply("North of the mill.")])],
            runs_on=clock,
            settings={"call_seconds": 60},
        ) as gateway,
    ):
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect), connection="close"))
        await begun(gateway)
        for _ in range(40):  # the share of the first model ends
            await clock.skip(10)
            if gateway.others[0].chats:
                break
        got = whole(await client.closed())
        told = events(got)
        assert signs(dialect, b"\r\n\r\n\r\n" + got.body) > 0
        match dialect:
            case "messages":
                kinds = [event["type"] for event in told if event["type"] != "ping"]
                assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
                assert kinds.count("message_start") == 1
                text = "".join(
                    event["delta"].get("text", "") for event in told if event["type"] == "content_block_delta"
                )
            case "responses":
                assert [event["sequence_number"] for event in told] == list(range(len(told)))
                assert [event["type"] for event in told].count("response.created") == 1
                text = told[-1]["response"]["output"][0]["content"][0]["text"]
            case _:
                text = "".join(choice["delta"].get("content") or "" for event in told for choice in event["choices"])
        assert text == "North of the mill."
