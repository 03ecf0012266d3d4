from __future__ import annotations

import pytest

from mud_assistant.assistant.events.classify import Attention, Classification, Manners, classify
from mud_assistant.assistant.events.events import Arrived, ChannelSaid, Emoted, Event, Noticed, Paged, Said, Whispered
from mud_assistant.tools import Kind, Principal

ME = Manners("assistant:1", "Sage", ("Old One",))
ANN = Principal("player:1", "Ann")
BOT = Principal("assistant:2", "Rook", Kind.ASSISTANT)
GAME = Principal("world", "the game", Kind.WORLD, 0)


def said(text: str, who: Principal = ANN, *, to_me: bool = False, alone: bool = False) -> Said:
    return Said(id="e", at=0.0, who=who, text=text, to_me=to_me, alone=alone)


def test_rule_0_an_assistant_that_is_off_hears_nothing() -> None:
    off = Manners("assistant:1", "Sage", enabled=False)
    assert classify(said("Sage!"), off).verdict is Classification.IGNORE


def test_rule_1_its_own_words_are_nothing_to_it() -> None:
    own = said("Sage is my name", Principal("assistant:1", "Sage", Kind.ASSISTANT))
    assert classify(own, ME).verdict is Classification.IGNORE


@pytest.mark.parametrize(
    "text", ["Sage, hello", "hello SAGE!", "@sage look", "is that you, sage?", "ask the old one", "'Sage'", "sage"]
)
def test_rule_3_its_name_or_an_alias_wakes_it(text: str) -> None:
    assert classify(said(text), ME) == Attention(Classification.TRIGGER, 10, addressed=True)


@pytest.mark.parametrize("text", ["sagebrush grows here", "a message", "the sages said", "sage_1", ""])
def test_rule_3_a_word_that_only_holds_the_name_does_not(text: str) -> None:
    assert classify(said(text), ME).verdict is Classification.CONTEXT


def test_rule_3_speech_directed_at_it_wakes_it() -> None:
    assert classify(said("hello there", to_me=True), ME) == Attention(Classification.TRIGGER, 10, addressed=True)


def test_rule_3_a_name_with_regular_expression_signs_is_a_name() -> None:
    odd = Manners("a", "R2(D2)+")
    assert classify(said("hello R2(D2)+ there"), odd).verdict is Classification.TRIGGER


@pytest.mark.parametrize("kind", [Whispered, Paged])
def test_rule_3_a_whisper_or_a_page_wakes_it(kind: type[Whispered | Paged]) -> None:
    assert classify(kind(id="e", at=0.0, who=ANN, text="psst"), ME) == Attention(
        Classification.TRIGGER, 9, addressed=True
    )


def test_rule_4_another_assistant_is_context_also_when_alone() -> None:
    assert classify(said("hello", BOT, alone=True), ME) == Attention(Classification.CONTEXT, 4)


@pytest.mark.parametrize("event", [said("Sage, and you?", BOT), Whispered(id="e", at=0.0, who=BOT, text="psst")])
def test_rule_4_what_another_assistant_says_to_it_wakes_it(event: Event) -> None:
    assert classify(event, ME) == Attention(Classification.TRIGGER, 4, addressed=True)


def test_rule_2_a_sender_below_the_owners_mark_is_ignored() -> None:
    strict = Manners("assistant:1", "Sage", min_permission=2)
    assert classify(said("hello", alone=True), strict).verdict is Classification.IGNORE
    assert classify(said("Sage, hello", to_me=True), strict).verdict is Classification.IGNORE
    assert classify(Whispered(id="e", at=0.0, who=ANN, text="psst"), strict).verdict is Classification.IGNORE
    builder = Principal("player:2", "Bea", permission=3)
    assert classify(said("hello", builder, alone=True), strict).verdict is Classification.TRIGGER


def test_rule_2_does_not_silence_the_world_itself() -> None:
    strict = Manners("assistant:1", "Sage", min_permission=2)
    assert classify(Noticed(id="e", at=0.0, who=GAME, text="It rains."), strict).verdict is Classification.CONTEXT


def test_rule_5_a_conversation_that_goes_on_wakes_it_without_its_name() -> None:
    assert classify(said("and the map?"), ME, goes_on=True) == Attention(Classification.TRIGGER, 8, addressed=True)
    assert classify(said("and the map?", BOT), ME, goes_on=True).verdict is Classification.CONTEXT


@pytest.mark.parametrize("setting", list(Classification))
def test_rule_6_channels_are_as_configured(setting: Classification) -> None:
    me = Manners("assistant:1", "Sage", channel_speech=setting)
    event = ChannelSaid(id="e", at=0.0, who=ANN, channel="public", text="hi all")
    assert classify(event, me) == Attention(setting, 5)


def test_rule_7_room_speech_is_context_and_wakes_it_when_nobody_else_is_meant() -> None:
    assert classify(said("nice weather"), ME) == Attention(Classification.CONTEXT, 8)
    assert classify(said("nice weather", alone=True), ME) == Attention(Classification.TRIGGER, 8, addressed=True)


def test_rule_7_room_speech_is_as_configured() -> None:
    eager = Manners("assistant:1", "Sage", room_speech=Classification.TRIGGER)
    assert classify(said("nice weather"), eager).verdict is Classification.TRIGGER


@pytest.mark.parametrize(
    ("event", "importance"),
    [
        (Emoted(id="e", at=0.0, who=ANN, text="waves"), 6),
        (Arrived(id="e", at=0.0, who=ANN), 3),
        (Noticed(id="e", at=0.0, who=GAME, text="It rains."), 3),
    ],
)
def test_rule_8_anything_else_is_context(event: Event, importance: int) -> None:
    assert classify(event, ME) == Attention(Classification.CONTEXT, importance)
