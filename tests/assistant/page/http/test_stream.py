"""A stream ends and goes on, never waits for a slow client, and leaves nothing behind when a browser vanishes."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.defer import DeferredList
from twisted.internet.task import Clock

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.page.http.stream import EventStream, wanted_in
from mud_assistant.assistant.page.live import LiveHub
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.values.live import LiveKind
from mud_assistant.llm.response import TextDelta
from tests.assistant.living import ANN, SAGE
from tests.assistant.page.live.browsers import Browser, until, watched
from tests.assistant.page.live.test_hub import answering

pytestmark = pytest.mark.usefixtures("reactor_baseline")


def hears(hub: LiveHub, text: str, me: str = SAGE.id) -> None:
    """The hub is told of a line, as the intake of an assistant tells it."""
    hub.heard(me, Said(id=f"e.{text[:9]}", at=0.0, who=ANN, text=text), Attention(Classification.TRIGGER, 8))


async def test_a_stream_says_what_it_is_lives_a_minute_and_is_resumed_without_gap_or_repeat(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        browser = await page.browser()
        head = browser.bytes.partition(b"\r\n\r\n")[0].decode().lower()
        for line in ("content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"):
            assert line in head
        assert b"\r\n\r\nretry: 1000\n\n" in browser.bytes
        hears(page.hub, "one")
        clock.pump([15.0] * 3)
        hears(page.hub, "two")
        await until(lambda: len(browser.of("heard")) == 2)
        assert browser.bytes.count(b":\n\n") == 3
        clock.advance(15)
        await until(lambda: browser.gone)
        assert page.hub.streams == 0
        hears(page.hub, "three")  # while the browser waits for a second
        clock.advance(1)
        again = await page.browser(browser.events[-1]["id"])
        hears(page.hub, "four")
        await until(lambda: len(again.of("heard")) == 2)
        said = [heard["text"] for one in (browser, again) for heard in one.of("heard")]
        assert (said, again.of("state")) == (["one", "two", "three", "four"], [])


async def test_after_another_start_everything_is_told_anew(tmp_path: Path) -> None:
    async with watched(tmp_path, answering()) as page:
        first = await page.browser()
        hears(page.hub, "one")
        await until(lambda: first.of("heard"))
        start, _, number = first.events[-1]["id"].partition("-")
        for last_id, is_anew in ((f"{start}x-{number}", True), (f"{start}-999", True), (f"{start}-{number}", False)):
            browser = await page.browser(last_id, tab="a")
            assert [state.get("snapshot") for state in browser.of("state")] == [True] * is_anew


async def test_streams_are_filtered_by_assistant_and_kind(tmp_path: Path) -> None:
    async with watched(tmp_path, answering()) as page:
        one = await page.browser(assistant="assistant:7", kinds="heard,step")
        all_ = await page.browser()
        hears(page.hub, "to Sage")
        hears(page.hub, "to the other", "assistant:7")
        page.hub.thinking("assistant:7", "run", 1)
        await until(lambda: all_.of("thinking") and one.of("heard"))
        assert [event["data"].get("text") for event in one.events] == ["to the other"]
        assert [heard["text"] for heard in all_.of("heard")] == ["to Sage", "to the other"]


def test_an_unknown_kind_is_refused() -> None:
    assert wanted_in({"kinds": "heard, step"}).kinds == {LiveKind.HEARD, LiveKind.STEP}
    with pytest.raises(InvalidInput, match="heard, thinking"):
        wanted_in({"kinds": "heard,gossip"})


async def test_four_streams_a_session_and_fifty_in_all(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        own = [await page.browser(session="a", tab=f"{number}") for number in range(5)]
        assert [browser.status for browser in own] == [200, 200, 200, 200, 429]
        assert (await page.browser(session="a", tab="2")).status == 200  # the same tab went to another page
        await until(lambda: own[2].gone)
        others = [await page.browser(session=f"s{number // 4}") for number in range(47)]
        assert [browser.status for browser in others[-2:]] == [200, 503]
        assert page.hub.streams == 50


async def test_the_streams_of_a_session_that_is_closed_end(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        mine, other = await page.browser(session="a"), await page.browser(session="b")
        page.hub.end_session("a")
        await until(lambda: mine.gone)
        assert (other.gone, page.hub.streams) == (False, 1)


async def test_a_client_that_is_too_slow_loses_words_first_and_is_closed_then(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock, max_seconds=10_000) as page:
        slow, quick = await page.browser(session="slow"), await page.browser(session="quick")
        slow.transport.pauseProducing()
        lines = 0
        while page.hub.streams == 2 and lines < 10_000:
            for _ in range(10):  # less than a connection takes at once
                lines += 1
                hears(page.hub, f"{lines} " + "x" * 3900)
                page.hub.delta(SAGE.id, "run", 1, TextDelta(f"word{lines} "))
                clock.advance(0.1)
            last = f'"word{lines} "'.encode()
            await until(lambda last=last: last in quick.bytes[-1000:])  # type: ignore[misc]
        assert page.hub.streams == 1
        slow.transport.resumeProducing()
        await until(lambda: slow.gone)
        heard = [[line["text"].split()[0] for line in one.of("heard")] for one in (slow, quick)]
        assert len(quick.of("delta")) == lines
        assert len(slow.of("delta")) <= len(heard[0])
        assert heard[0] == heard[1][: len(heard[0])]  # no gap in what it got


async def test_words_are_left_out_while_a_client_reads_slowly_and_the_rest_comes_late(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        browser = await page.browser()
        [stream] = page.hub._streams
        assert isinstance(stream, EventStream)
        stream.pauseProducing()
        for number in range(3):
            hears(page.hub, f"line {number}")
            page.hub.delta(SAGE.id, "run", 1, TextDelta("lost "))
            clock.advance(0.1)
        stream.resumeProducing()
        page.hub.delta(SAGE.id, "run", 1, TextDelta("kept "))
        clock.advance(0.1)
        await until(lambda: browser.of("delta"))
        assert [event["kind"] for event in browser.events] == ["state", "heard", "heard", "heard", "delta"]
        assert browser.of("delta")[0]["text"] == "kept "


async def test_browsers_that_vanish_without_a_word_leave_nothing_behind(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        watchers = page.here.service.watchers
        for round_ in range(20):
            opened: list[Browser] = []
            results = await DeferredList([page.opening(opened, session=f"s{number // 4}") for number in range(100)])
            assert all(done for done, _ in results)
            await until(lambda opened=opened: all(b"\r\n\r\n" in browser.bytes for browser in opened))  # type: ignore[misc]
            assert sorted({browser.status for browser in opened}) == [200, 503]
            assert (page.hub.streams, len(watchers)) == (50, 1)
            hears(page.hub, f"round {round_}")
            clock.advance(60)  # nobody tells the server that they have left
            assert page.hub.streams == 0
            assert len(clock.getDelayedCalls()) == 2  # the look of each second, and the end of the watch
            await until(lambda opened=opened: all(browser.gone for browser in opened))  # type: ignore[misc]
        clock.advance(70)
        assert (clock.getDelayedCalls(), len(watchers), watchers.is_watched) == ([], 0, False)
