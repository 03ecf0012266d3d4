"""What happens in a service is seen live by those who watch, and by nobody once it is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.page.live.hub import MAX_A_SESSION, TooManyStreams
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.llm import ToolCall
from mud_assistant.llm.testing import Call, EndEarly, FakeOllama, Reply, Step
from mud_assistant.tools import Approvals
from mud_assistant.tools.context import Requirement
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.page.live.browsers import Browser, until, watched

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
KEY = "sk-live-0123456789abcdefABCDEF"


def answering(*steps: Step, clock: Any = reactor) -> FakeOllama:
    """A fake model with this script; the last step is repeated."""
    left = list(steps or (HELLO,))
    return FakeOllama(clock, lambda _: left.pop(0) if len(left) > 1 else left[0])


def ended(browser: Browser, runs: int = 1) -> bool:
    return len(browser.of("outcome")) >= runs


async def test_what_a_player_says_and_how_it_is_answered_appears(tmp_path: Path) -> None:
    async with watched(tmp_path, answering()) as page:
        sage = page.here.start(page.settings())
        await sage.settled()
        browser = await page.browser()
        page.here.says(sage, "Sage, good morning")
        await until(lambda: ended(browser))
        kinds = [event["kind"] for event in browser.events if event["kind"] not in {"delta", "spent", "circuit"}]
        assert kinds == ["state", "heard", "thinking", "step", "outcome"]
        [heard], [step], [outcome] = (browser.of(kind) for kind in ("heard", "step", "outcome"))
        assert (heard["who"], heard["text"], heard["verdict"]) == ("Ann", "Sage, good morning", "trigger")
        assert [(call["name"], call["status"]) for call in step["calls"]] == [("say", "done")]
        assert (step["model"], outcome["outcome"], outcome["acts"]) == ("sage", "answered", ["say"])
        run = {event["run"] for event in browser.events if event["kind"] in {"thinking", "step", "outcome"}}
        assert len(run) == 1
        assert {event["name"] for event in browser.events[1:4]} == {"Sage"}


async def test_nobody_watching_adds_no_watcher_and_a_stream_does_until_it_was_gone_for_a_while(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        watchers = page.here.service.watchers
        sage = page.here.start(page.settings())
        page.here.says(sage, "Sage, hello")
        await sage.settled()
        assert (len(watchers), watchers.is_watched, clock.getDelayedCalls()) == (0, False, [])
        browser = await page.browser()
        assert (len(watchers), watchers.is_watched) == (1, True)
        for _ in range(3):  # it is not watched for a moment, and comes back
            await page.leave(browser)
            clock.advance(60)
            assert watchers.is_watched
            browser = await page.browser()
            clock.advance(15)
            assert (len(watchers), watchers.is_watched) == (1, True)
        await page.leave(browser)
        assert watchers.is_watched
        clock.advance(70)
        assert (len(watchers), watchers.is_watched, clock.getDelayedCalls()) == (0, False, [])


async def test_an_assistant_that_is_started_anew_is_watched_on(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        browser = await page.browser()
        for number in (1, 2):
            sage = page.here.start(page.settings())
            await sage.settled()
            clock.advance(1)
            page.here.says(sage, f"Sage, hello {number}")
            await until(lambda number=number: ended(browser, number))  # type: ignore[misc]
        assert [heard["text"] for heard in browser.of("heard")] == ["Sage, hello 1", "Sage, hello 2"]
        await page.here.service.stop(SAGE.id)
        clock.advance(1)
        await until(lambda: len(browser.of("state")) > 2)
        states = [(state["was"], state["state"]) for state in browser.of("state")[1:]]
        assert (states[0], states[-1]) == (("off", "awake"), ("awake", "off"))


async def test_words_come_joined_ten_times_a_second_at_most_and_reasoning_apart(tmp_path: Path) -> None:
    server, clock = Clock(), Clock()
    reply = Reply("One two three four.", reasoning="Let me think of it.", chunk_size=4, piece_seconds=1.0)
    async with watched(tmp_path, answering(reply, clock=server), clock=clock) as page:
        sage = page.here.start(page.settings(plain_text="think"))
        await sage.settled()
        browser = await page.browser()
        page.here.says(sage, "Sage, count")
        for _ in range(40):
            server.advance(1)
            await deferLater(reactor, 0.004)
            clock.advance(0.025)  # four pieces of the answer in a tenth of a second
            if ended(browser):
                break
        await until(lambda: ended(browser))
        deltas = browser.of("delta")
        assert 1 < len(deltas) <= 5
        assert "Let me think of it.".startswith("".join(delta.get("reasoning", "") for delta in deltas).strip())
        assert "One two three four.".startswith("".join(delta.get("text", "") for delta in deltas).strip())
        assert "reasoning" in deltas[0]
        assert "text" in deltas[-1]
        assert browser.of("step")[0]["text"] == "One two three four."


async def test_a_small_model_asked_in_plain_turns_is_watched_and_its_requests_are_kept(tmp_path: Path) -> None:
    reply = Reply("I have kept bees here for years, Ann.", chunk_size=5, piece_seconds=0.03)
    async with watched(tmp_path, answering(reply)) as page:
        settings = page.settings()
        sage = page.here.start({**settings, "model": {**settings["model"], "asking": "plain"}})
        await sage.settled()
        browser = await page.browser()
        page.here.says(sage, "Sage, how long have you kept bees?")
        await until(lambda: ended(browser))
        assert browser.of("delta")
        run = browser.events[-1]["run"]
        asked = page.asked.find(SAGE.id, run)
        bodies = [one.raw for one in page.fake.requests if one.messages and not one.is_warming]
        assert [one.text.encode() for one in asked] == bodies
        assert {one.step for one in asked} == {1}


async def said_and_asked(folder: Path, *steps: Step, is_watched: bool) -> tuple[Sequence[str], list[Any], list[Any]]:
    async with watched(folder, answering(*steps)) as page:
        browser = await page.browser() if is_watched else None
        sage = page.here.start(page.settings())
        for line in ("Sage, hello", "Sage, where is the well?"):
            page.here.says(sage, line)
            await sage.settled()
        if browser is not None:
            await until(lambda: ended(browser, 2))
        asked = [request.raw for request in page.fake.requests if not request.is_warming and request.messages]
        return page.here.witness.heard, asked, browser.of("delta") if browser else []


@pytest.mark.parametrize("breaks", [False, True])
async def test_being_watched_changes_neither_what_is_asked_nor_what_is_said(tmp_path: Path, *, breaks: bool) -> None:
    text = "The well lies north of the mill, Ann. Past the old oak. Mind the wolves!"
    reply = Reply(text, chunk_size=7, piece_seconds=0.01)
    steps: list[Step] = [Reply("Hello."), *([EndEarly(2, reply)] if breaks else []), reply]
    unwatched = await said_and_asked(tmp_path / "a", *steps, is_watched=False)
    seen = await said_and_asked(tmp_path / "b", *steps, is_watched=True)
    assert seen[:2] == unwatched[:2]
    first, _, rest = text.partition(" Past")
    assert list(seen[0]) == ["Sage: Hello.", f"Sage: {first}", f"Sage: Past{rest}"]
    assert (len(seen[1]), any("again" in delta for delta in seen[2])) == (3 if breaks else 2, breaks)


async def test_what_a_model_says_of_a_key_is_not_sent_in_pieces_either(tmp_path: Path) -> None:
    reply = Reply(f"It is {KEY} indeed, so it is.", reasoning=f"The key {KEY} is", chunk_size=3, piece_seconds=0.02)
    async with watched(tmp_path, answering(reply)) as page:
        page.here.service.config.secrets.add(KEY)
        browser = await page.browser()
        sage = page.here.start(page.settings())
        page.here.says(sage, f"Sage, is it {KEY}?")
        await until(lambda: ended(browser))
        assert any("[key]" in delta.get("text", "") for delta in browser.of("delta"))
        assert KEY[:10].encode() not in browser.bytes
        [run] = {event["run"] for event in browser.events if event["kind"] == "outcome"}
        assert KEY[:10] not in "".join(one.text for one in page.asked.find(SAGE.id, run))


async def test_a_forgotten_player_is_in_no_later_stream_and_no_kept_request(tmp_path: Path) -> None:
    async with watched(tmp_path, answering()) as page:
        sage = page.here.start(page.settings())
        await sage.settled()
        browser = await page.browser()
        start = browser.events[0]["id"]
        page.here.says(sage, "Sage, my cat is called Quimby")
        await until(lambda: ended(browser))
        await sage.settled()
        run = next(event["run"] for event in browser.events if event["kind"] == "step")
        [asked] = page.asked.find(SAGE.id, run)
        assert "Quimby" in asked.text
        assert asked.text.encode() == page.fake.requests[-1].raw
        assert "Quimby" in (await page.browser(start)).bytes.decode()
        assert sage.assistant is not None
        await sage.assistant.forget(ANN)
        assert page.asked.find(SAGE.id, run) == ()
        assert "Quimby" not in (await page.browser(start)).bytes.decode()


async def test_words_that_were_not_sent_yet_go_with_a_forgotten_player(tmp_path: Path) -> None:
    server, clock = Clock(), Clock()
    reply = Reply("Quimby is a fine name for a cat, Ann, and so it is.", chunk_size=8, piece_seconds=1.0)
    async with watched(tmp_path, answering(reply, clock=server), clock=clock) as page:
        sage = page.here.start(page.settings(plain_text="think"))
        await sage.settled()
        browser = await page.browser()
        page.here.says(sage, "Sage, my cat is called Quimby")
        while not any(words._parts for words in page.hub._words.values()):
            server.advance(1)
            await deferLater(reactor, 0.004)
        page.hub.forget(SAGE.id)
        for _ in range(40):
            clock.advance(0.1)
            server.advance(1)
            await deferLater(reactor, 0.004)
        await until(lambda: ended(browser))
        assert browser.of("delta")
        assert "Quimby" not in str(browser.of("delta"))


async def test_what_a_forgotten_player_asked_leave_for_goes_without_their_words(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        sage = page.here.start(page.settings())
        await sage.settled()
        browser = await page.browser()
        assert sage.assistant is not None
        call = ToolCall("c", "execute_command", {"command": "dig Quimby"})
        sage.assistant.context.tools.approvals.request(call, Requirement(3), ANN, "Why: Ann wrote of Quimby")
        clock.advance(1)
        await until(lambda: len(browser.of("approval")) == 1)
        assert "Quimby" in browser.bytes.decode()
        later = len(browser.bytes)
        await sage.assistant.forget(ANN)
        clock.advance(1)
        await until(lambda: len(browser.of("approval")) == 2)
        gone = browser.of("approval")[1]
        assert (gone["what"], gone["number"], gone["tool"]) == ("decided", 1, "execute_command")
        assert not [name for name in ("Quimby", "Ann") if name in browser.bytes[later:].decode()]


async def test_a_viewer_gets_no_words(tmp_path: Path) -> None:
    async with watched(tmp_path, answering(Reply("Quimby is a fine name.", chunk_size=4))) as page:
        sage = page.here.start(page.settings())
        await sage.settled()
        viewer, operator = await page.browser(role="viewer"), await page.browser(session="other")
        page.here.says(sage, "Sage, my cat is called Quimby")
        await until(lambda: ended(viewer) and ended(operator))
        assert "Quimby" in operator.bytes.decode()
        assert "Quimby" not in viewer.bytes.decode()
        assert [heard["who"] for heard in viewer.of("heard")] == ["Ann"]
        assert [call["name"] for call in viewer.of("step")[0]["calls"]] == ["say"]
        assert viewer.of("delta") == []


async def test_a_session_has_so_many_streams_and_another_still_has_its_own(tmp_path: Path) -> None:
    async with watched(tmp_path, answering()) as page:
        await page.here.start(page.settings()).settled()
        browsers = [await page.browser() for _ in range(MAX_A_SESSION)]
        visitor = page.hub._streams[0].visitor
        with pytest.raises(TooManyStreams) as refused:
            page.hub.check(visitor)
        assert refused.value.is_own
        page.hub.check(structs.replace(visitor, session="another"))
        await page.leave(browsers[-1])
        page.hub.check(visitor)


async def test_only_the_streams_of_a_session_that_is_over_end(tmp_path: Path) -> None:
    async with watched(tmp_path, answering()) as page:
        left, stays = await page.browser(session="left"), await page.browser(session="stays")
        page.hub.end_session("left")
        await until(lambda: left.gone)
        assert (page.hub.streams, stays.gone) == (1, False)


async def test_requests_for_leave_circuits_and_money_are_seen_once_a_second(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        service, now = page.here.service, Clock()
        sage = page.here.start(page.settings())
        page.here.says(sage, "Sage, hello")
        await sage.settled()
        browser = await page.browser()
        snapshot = browser.of("state")[0]
        assert [(one["name"], one["state"]) for one in snapshot["assistants"]] == [("Sage", "awake")]
        assert [one["calls"] for one in snapshot["spent"]] == [1, 1]
        approvals = service.parts.approvals[SAGE.id] = Approvals(now.seconds)
        asked = [approvals.request(ToolCall("c", "execute_command", {"command": f"dig {at}"}), Requirement(3), ANN)
                 for at in (1, 2)]  # fmt: skip
        clock.advance(1)
        approvals.decline(asked[0].number, SAGE)
        approvals.decline(asked[0].number, ANN)
        clock.advance(1)
        service.pipeline.upstream(page.url).breaker.trip("a test")
        page.here.says(sage, "Sage, hello again")
        await sage.settled()
        clock.advance(1)
        clock.advance(1)
        await until(lambda: browser.of("circuit"))
        assert sorted((one["what"], one["number"]) for one in browser.of("approval")) == [
            ("decided", 1), ("new", 1), ("new", 2)]  # fmt: skip
        assert [(one["origin"], one["circuit"]) for one in browser.of("circuit")] == [(page.url, "open")]


async def test_the_emergency_stop_is_a_state(tmp_path: Path) -> None:
    clock = Clock()
    async with watched(tmp_path, answering(), clock=clock) as page:
        sage = page.here.start(page.settings())
        await sage.settled()
        assert sage.state is RunnerState.AWAKE
        assert sage.assistant is not None
        browser = await page.browser()
        sage.assistant.tick._crashes = 5
        clock.advance(1)
        await until(lambda: len(browser.of("state")) > 1)
        assert browser.of("state")[1]["state"] == "emergency"
