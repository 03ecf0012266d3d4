"""A recorded conversation gives the same events whole and in pieces, and nothing but what is for the character."""

from __future__ import annotations

from random import Random

import pytest

from mud_assistant.assistant.events.events import format_event
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profile
from mud_assistant.assistant.worlds.telnet.reading.wire_reading import hear_wire
from mud_assistant.assistant.worlds.telnet.wire.feed import Feed
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Closed
from tests.assistant.worlds.telnet.played_game import Heard
from tests.assistant.worlds.telnet.recorded import Recording, at_random, every, load, pieces

_PROFILES = {"tba": "diku", "ranvier": "ranvier", "mudpy": "mudpy", "evennia": "evennia"}


def events_of(recording: Recording, size: int) -> list[str]:
    """Return what a character hears of a recording whose server's bytes come in pieces; 0 is whole, -1 by chance."""
    heard = Heard(shipped_profile(_PROFILES.get(recording.name.split("_")[0], "moo"), "Sage"))
    feed = Feed(heard.profile.session.split)
    dice = Random(size)  # noqa: S311 - any numbers will do
    for sent in recording.sent:
        heard.clock.advance(max(0.0, sent.at - heard.clock.seconds()))
        if not sent.by_server:
            continue
        cuts = [sent.data] if size == 0 else pieces(sent.data, size) if size > 0 else at_random(sent.data, dice)
        for cut in cuts:
            for event in feed.feed(cut):
                if not isinstance(event, Closed):
                    hear_wire(heard.ears, event)
    heard.clock.advance(20.0)
    return [f"{type(event).__name__} {event.who.id} {format_event(event)}" for event in heard.events]


@pytest.mark.parametrize("name", every())
def test_the_same_is_heard_whole_and_in_pieces(name: str) -> None:
    recording = load(name)
    whole = events_of(recording, 0)
    assert whole
    for size in (1, 2, 3, 7, -1):
        assert events_of(recording, size) == whole


@pytest.mark.parametrize("name", every())
def test_no_line_of_another_protocol_and_no_control_character_is_heard(name: str) -> None:
    for event in events_of(load(name), 0):
        assert "#$#" not in event
        assert event.isprintable(), event
