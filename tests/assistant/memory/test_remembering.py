"""What of an event is remembered, by rule."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.events.classify import Attention, Classification, OpenQuestion
from mud_assistant.assistant.events.events import (
    Arrived,
    ByRule,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Left,
    Noticed,
    Paged,
    Said,
    Whispered,
    audience_of,
)
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.memory.remembering import AMBIENT, NOTABLE, OVERHEARD, PRIVATE, SEEN, TOLD, remembering
from mud_assistant.tools import Kind, Memory, Principal
from mud_assistant.tools.memories import MAX_TEXT, MemoryKind
from mud_assistant.tools.trust import channel_id

ANN = Principal("1", "Ann", permission=1)
WORLD = Principal("world", "the world", Kind.WORLD)
REMEMBER = remembering(("Sage", "Old Sage"))
TO_ANN = frozenset({"1"})
PLAIN = "the roof leaks again, bring a bucket"


def remembered(event: Event, importance: int = 8, *, addressed: bool = False) -> Memory | None:
    return REMEMBER(Accepted(event, Attention(Classification.CONTEXT, importance, addressed=addressed)))


def make(kind: type[Event], text: str = PLAIN, **more: Any) -> Event:
    if text:
        more["text"] = text
    return kind(id="e1", at=5.0, who=more.pop("who", ANN), **more)


def said(text: str, **more: Any) -> Event:
    return make(Said, text, **more)


@pytest.mark.parametrize(("of_question", "of_answer", "least"), [(0, 3, 0), (5, 1, 1), (2, 2, 2)])
def test_an_answer_is_trusted_no_more_than_its_question_and_belongs_to_both(
    of_question: int, of_answer: int, least: int
) -> None:
    asked = OpenQuestion("What do you sell here?", frozenset({"9"}), of_question)
    answer = said("Apples.", who=Principal("3", "Carl", permission=of_answer))
    memory = REMEMBER(Accepted(answer, Attention(Classification.CONTEXT, 8, asked=asked)))
    assert memory is not None
    assert (memory.authority, memory.sources) == (least, frozenset({"3", "9"}))
    assert memory.text == 'Apples. (asked: "What do you sell here?")'


def test_a_spoken_line_is_remembered_with_whose_it_is() -> None:
    assert remembered(said(PLAIN)) == Memory(
        id=remembered(said(PLAIN.upper())).id,  # type: ignore[union-attr]  # the test fails either way
        text=PLAIN,
        kind=MemoryKind.HEARD,
        at=5.0,
        who="1",
        name="Ann",
        how="said",
        importance=OVERHEARD,
        authority=1,
        sources=frozenset({"1"}),
        audience=None,
        event="e1",
    )


@pytest.mark.parametrize(
    ("event", "how", "importance", "audience"),
    [
        (said(PLAIN), "said", OVERHEARD, None),
        (said(PLAIN, to_me=True), "told you", OVERHEARD, None),
        (said(PLAIN, alone=True), "told you", OVERHEARD, None),
        (make(Whispered), "whispered to you", PRIVATE, TO_ANN),
        (make(Paged), "paged you", PRIVATE, TO_ANN),
        (make(ChannelSaid, channel="Guild"), "said on Guild", OVERHEARD, frozenset({"1", channel_id("Guild")})),
        (make(ChannelSaid, channel="Public", is_open=True), "said on Public", OVERHEARD, None),
        (make(Emoted, 'mutters, "the roof leaks again, bring a bucket"'), "said", SEEN, None),
    ],
)
def test_what_is_spoken_is_heard_by_its_audience(event: Event, how: str, importance: int, audience: Any) -> None:
    memory = remembered(event)
    assert memory is not None
    assert (memory.kind, memory.text, memory.how) == (MemoryKind.HEARD, PLAIN, how)
    assert memory.importance == importance
    assert memory.audience == audience == audience_of(event)


@pytest.mark.parametrize(
    ("event", "text", "importance"),
    [
        (make(Emoted, "paints the fence in bright colours."), "Ann paints the fence in bright colours.", SEEN),
        (make(Gave, "", thing="lamp"), "Ann gave you the lamp.", NOTABLE),
        (make(Noticed, "The bell of the abbey falls down.", who=WORLD), "The bell of the abbey falls down.", AMBIENT),
    ],
)
def test_what_happens_is_seen(event: Event, text: str, importance: int) -> None:
    memory = remembered(event)
    assert memory is not None
    assert (memory.kind, memory.text, memory.how) == (MemoryKind.SEEN, text, "")
    assert memory.importance == importance
    assert memory.audience == audience_of(event)


@pytest.mark.parametrize(
    ("text", "addressed", "importance"),
    [
        (PLAIN, False, OVERHEARD),
        (PLAIN, True, TOLD),
        ("The miller hid 40 coins", False, NOTABLE),
        ("we met the witch of Dunport", False, NOTABLE),
        ("I promise to bring a bucket", False, NOTABLE),
        ("don't tell the miller about it", False, NOTABLE),
        ("Sage, the roof leaks again", True, TOLD),  # its own name is no news
    ],
)
def test_numbers_names_and_promises_count(text: str, addressed: bool, importance: int) -> None:
    memory = remembered(said(text), addressed=addressed)
    assert memory is not None
    assert memory.importance == importance


def test_a_line_with_its_name_counts_as_much_as_a_private_one() -> None:
    memory = remembered(said(f"Sage, {PLAIN}"), 10, addressed=True)
    assert memory is not None
    assert memory.importance == PRIVATE


@pytest.mark.parametrize("text", ["I like tea", "I am a baker", "my cat died", "We keep bees"])
def test_what_somebody_says_of_themselves_may_be_short(text: str) -> None:
    assert remembered(said(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("Hello there, Sage!", "good morning everyone", "Thank you, friend.", "ok", "", "?!", "...", "Sage?"),
        *("How are you?", "What is this place?", "Can you help me?", "Old Sage, where is the cellar door?"),
        *("I see.", "Yes, I know.", "Who is there? What do you want?"),
    ],
)
def test_small_talk_and_plain_questions_are_not_remembered(text: str) -> None:
    for event in (said(text), make(Whispered, text)) if text else (said(" "),):
        assert remembered(event) is None


@pytest.mark.parametrize("text", ["Where is the witch of Dunport?", "Is the ferry at 9 still running?"])
def test_a_question_with_a_name_or_a_number_is_remembered(text: str) -> None:
    assert remembered(said(text)) is not None


@pytest.mark.parametrize(
    "event",
    [
        make(Arrived, "", origin="from the north"),
        make(Left, "", direction="north"),
        said(PLAIN, by_rule=ByRule("move", {"direction": "south"}, ANN)),
    ],
)
def test_who_comes_and_goes_and_what_is_done_by_rule_is_not_remembered(event: Event) -> None:
    assert remembered(event) is None


def test_a_gift_is_trusted_as_the_giver_and_the_thing() -> None:
    gift = remembered(make(Gave, "", thing="lamp", who=Principal("1", "Ann", permission=3), authority=0))
    assert gift is not None
    assert gift.authority == 0


def test_what_an_outcast_says_has_no_authority() -> None:
    memory = remembered(said(PLAIN, who=Principal("9", "Guest", permission=0)))
    assert memory is not None
    assert memory.authority == 0


def test_the_same_words_are_one_memory_and_in_private_another() -> None:
    ids = [
        remembered(event).id  # type: ignore[union-attr]  # the test fails either way
        for event in (said(PLAIN), said(PLAIN.title()), make(Whispered), said(PLAIN, who=Principal("2", "Bea")))
    ]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_words_are_cleaned_and_bounded() -> None:
    memory = remembered(said("the \x1b[31mred\u202e roof" + " leaks" * 1000))
    assert memory is not None
    assert len(memory.text) <= MAX_TEXT
    assert "\x1b" not in memory.text
    assert "\u202e" not in memory.text
