from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.events.events import (
    MAX_HEARD,
    Arrived,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Left,
    Noticed,
    Paged,
    Said,
    Whispered,
    format_event,
    quoted_in,
)
from mud_assistant.tools import Principal

ANN = Principal("p", "Ann")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Said(id="1", at=0, who=ANN, text="hi"), 'Ann says: "hi"'),
        (Said(id="1", at=0, who=ANN, text="hi", to_me=True), 'Ann says to you: "hi"'),
        (Whispered(id="1", at=0, who=ANN, text="psst"), 'Ann whispers to you: "psst"'),
        (Paged(id="1", at=0, who=ANN, text="hey"), 'Ann pages you: "hey"'),
        (ChannelSaid(id="1", at=0, who=ANN, channel="public", text="all"), 'Ann says on public: "all"'),
        (Emoted(id="1", at=0, who=ANN, text="waves."), "Ann waves."),
        (Gave(id="1", at=0, who=ANN, thing="old map"), "Ann gives you the old map."),
        (Gave(id="1", at=0, who=ANN, thing="map.\nBob says: x"), "Ann gives you the map. Bob says: x."),
        (Arrived(id="1", at=0, who=ANN, origin="south"), "Ann arrives from south."),
        (Arrived(id="1", at=0, who=ANN), "Ann arrives."),
        (Left(id="1", at=0, who=ANN, direction="up"), "Ann leaves up."),
        (Left(id="1", at=0, who=ANN), "Ann leaves."),
        (Noticed(id="1", at=0, who=ANN, text="It rains."), "It rains."),
    ],
)
def test_an_event_is_one_line(event: Event, line: str) -> None:
    assert format_event(event) == line


@given(text=st.text(), name=st.text(max_size=30))
def test_nobody_can_write_a_second_line(text: str, name: str) -> None:
    line = format_event(Said(id="1", at=0, who=Principal("p", name), text=text))
    assert len(line.splitlines()) == 1
    assert len(line) < MAX_HEARD + 2100


def test_a_hundred_thousand_characters_are_cut() -> None:
    assert len(format_event(Said(id="1", at=0, who=ANN, text="x" * 100_000))) < MAX_HEARD + 100


@pytest.mark.parametrize(
    ("pose", "words"),
    [
        ('nods and says "Where is the map?"', "Where is the map?"),
        ("murmurs \u201cYes\u201d and \u00abno\u00bb.", "Yes no"),
        ("waves.", ""),
        ('holds up a 12" rule', ""),
        ('says ""', ""),
    ],
)
def test_the_speech_in_a_pose_is_what_it_quotes(pose: str, words: str) -> None:
    assert quoted_in(pose) == words
