"""The last events are kept in order and within bounds, and it is known which a stream has missed."""

from __future__ import annotations

import json

import pytest

from mud_assistant.assistant.page.live.deltas import Delta, split_at_last_word
from mud_assistant.assistant.page.live.ring import EventRing
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.live import LiveEvent, LiveKind
from mud_assistant.llm.response import CallDelta, ReasoningDelta, TextDelta


def add(ring: EventRing, kind: LiveKind = LiveKind.HEARD, me: str = "a:1", run: str = "", text: str = "") -> str:
    ring.add(LiveEvent(id=ring.next_id(), kind=kind, at=1.0, assistant=me, run=run, data={"text": text, "who": "Ann"}))
    return ring.last_id


def missed(ring: EventRing, last_id: str) -> list[str] | None:
    found = ring.after(last_id)
    return None if found is None else [one.event.id for one in found]


def test_a_stream_gets_exactly_what_it_missed() -> None:
    ring = EventRing("s")
    ids = [add(ring) for _ in range(5)]
    assert ids[0] == "s-1"
    assert missed(ring, ids[2]) == ids[3:]
    assert missed(ring, ids[4]) == []
    assert missed(ring, "s-0") == ids


@pytest.mark.parametrize("last_id", ["other-3", "s-99", "s-x", "s-", "", "s-\u0663", "garbage"])
def test_what_is_no_event_of_this_start_is_not_resumed(last_id: str) -> None:
    ring = EventRing("s")
    for _ in range(5):
        add(ring)
    assert missed(ring, last_id) is None


@pytest.mark.parametrize("bounds", [{"max_events": 3}, {"max_bytes": 700}])
def test_what_is_too_old_is_not_resumed(bounds: dict[str, int]) -> None:
    ring = EventRing("s", **bounds)
    ids = [add(ring, text="x" * 50) for _ in range(6)]
    kept = len(ring)
    assert 1 < kept < 6
    assert missed(ring, ids[5 - kept]) == ids[6 - kept :]
    assert missed(ring, ids[4 - kept]) is None


def test_a_step_takes_the_place_of_the_words_of_its_run() -> None:
    ring = EventRing("s")
    first = add(ring, LiveKind.DELTA, run="r1")
    other = add(ring, LiveKind.DELTA, run="r2")
    step = add(ring, LiveKind.STEP, run="r1")
    assert missed(ring, "s-0") == [other, step]
    assert missed(ring, first) == [other, step]


def test_forgetting_drops_words_and_keeps_the_rest() -> None:
    ring = EventRing("s")
    add(ring, LiveKind.HEARD)
    kept = [add(ring, LiveKind.STATE), add(ring, LiveKind.HEARD, me="a:2")]
    add(ring, LiveKind.STEP)
    ring.forget("a:1")
    assert missed(ring, "s-0") == kept


def test_after_nobody_has_watched_nothing_is_resumed() -> None:
    ring = EventRing("s")
    last = add(ring)
    ring.clear()
    assert (missed(ring, last), missed(ring, ring.last_id)) == (None, [])


def test_an_event_is_one_line_of_ascii_whatever_is_in_it() -> None:
    ring = EventRing("s")
    text = "a\r\n\ndata: x\u2028\ud800 \u202e"
    event = LiveEvent(id=ring.next_id(), kind=LiveKind.HEARD, at=1.0, data={"text": text, "who": "Ann"})
    published = ring.add(event)
    lines = published.bytes.decode("ascii").split("\n")
    assert [line.partition(": ")[0] for line in lines] == ["id", "event", "data", "", ""]
    assert json.loads(lines[2].removeprefix("data: "))["data"]["text"] == text
    assert json.loads(published.bytes_for(VisitorRole.VIEWER).split(b"\n")[2][6:])["data"] == {"who": "Ann"}


def test_a_model_may_not_tell_a_key_in_pieces() -> None:
    key = "sk-" + "0123456789" * 4
    words, sent = Delta(1), ""
    for char in f"It is {key}, said she. " + key:
        words.add(TextDelta(char))
        if data := words.take(lambda text: text.replace(key, "[key]")):
            sent += data["text"]
    assert sent == "It is [key], said she. "


def test_a_long_row_without_blanks_is_sent_but_for_its_end() -> None:
    ready, rest = split_at_last_word("x" * 1300, str)
    assert (len(ready), len(rest)) == (700, 600)
    assert split_at_last_word("\u4f60\u597d", str) == ("\u4f60\u597d", "")


def test_words_of_an_attempt_that_broke_are_taken_back() -> None:
    words = Delta(2)
    words.add(ReasoningDelta("I think "))
    words.add(CallDelta(name="say", arguments='{"text": "Hi '))
    assert words.take(str) == {"step": 2, "reasoning": "I think ", "call": 'say {"text": "Hi '}
    words.begins()
    words.add(TextDelta("Well, yes"))
    assert words.take(str) == {"step": 2, "text": "Well, ", "again": True}
    assert words.take(str) is None
