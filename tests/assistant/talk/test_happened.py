"""What was done without speech, as a small model is told of it and as it is read back."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.events.events import Arrived, Emoted, Event, Gave, Said, Whispered
from mud_assistant.assistant.language.attend import DEED, Turn
from mud_assistant.assistant.loop.talk.answer import fit_to_say
from mud_assistant.assistant.loop.talk.turns import by_rule, describe_deeds, earlier_turns, words_in
from mud_assistant.llm import Message, ToolCall, user
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.llm.packing.packed import Part
from mud_assistant.tools import Principal

PETRA = Principal("player:1", "Petra")
NAMES = ("Marlo", "ferryman")


def posed(text: str) -> Emoted:
    return Emoted(id="e", at=0.0, who=PETRA, text=text)


GIFT = Gave(id="e", at=0.0, who=PETRA, thing="old map")
ARRIVAL = Arrived(id="e", at=0.0, who=PETRA, origin="north")


@pytest.mark.parametrize(
    ("event", "told", "words"),
    [
        (posed("waves at Marlo."), "Petra waves at you.", ""),
        (posed("bows to the ferryman"), "Petra bows to you.", ""),
        (posed("looks into marlo's eyes."), "Petra looks into your eyes.", ""),
        (posed("gathers marlocks."), "Petra gathers marlocks.", ""),
        (GIFT, "Petra gives you the old map.", ""),
        (ARRIVAL, "Petra arrives from north.", ""),
        (posed('nods and says "Yes, Marlo."'), "", "Yes, Marlo."),
        (Said(id="e", at=0.0, who=PETRA, text="Hello"), "", "Hello"),
        (Whispered(id="e", at=0.0, who=PETRA, text="Psst"), "", "Psst"),
    ],
)
def test_an_event_is_told_or_its_words_are_answered(event: Event, told: str, words: str) -> None:
    assert (describe_deeds([event], NAMES), words_in(event)) == (told, words)


def test_only_the_latest_are_told() -> None:
    told = describe_deeds([posed(f"draws card {number}.") for number in range(5)], NAMES)
    assert told == "Petra draws card 2. Petra draws card 3. Petra draws card 4."


@pytest.mark.parametrize(
    ("event", "grant", "answer"),
    [
        (GIFT, {"say", "emote"}, ("say", "Thank you, Petra.")),
        (ARRIVAL, {"say", "emote"}, ("say", "Welcome, Petra.")),
        (posed("waves at Marlo."), {"say", "emote"}, ("emote", "nods to Petra.")),
        (posed("waves at Marlo."), {"say"}, ("say", "Well met, Petra.")),
    ],
)
def test_by_rule_a_gift_is_thanked_for_and_a_pose_gets_a_nod(
    event: Event, grant: set[str], answer: tuple[str, str]
) -> None:
    assert by_rule(event, grant) == answer


@pytest.mark.parametrize(
    ("said", "fit"),
    [
        ("Good day to you. What brings you here?", "Good day to you."),
        ("You juggle three apples.", ""),
        ("Petra juggles apples!", ""),
        ("Hello, Petra!", "Hello, Petra!"),
        ("You have quick hands.", "You have quick hands."),
        ("You are a fool!", ""),
        ("", ""),
    ],
)
def test_a_deed_gets_one_sentence_that_is_not_the_deed(said: str, fit: str) -> None:
    assert fit_to_say(said, "Petra", "Petra juggles three apples.", ["You are a fool!", "Good day."]) == fit


def read(*messages: Message | str) -> list[Turn]:
    parts: list[Part] = [user(one) if isinstance(one, str) else one for one in messages]
    return earlier_turns(parts, NAMES, ())


def did(tool: str, text: str) -> Message:
    return assistant_message(ToolCall("c", tool, {"text": text}))


def test_what_was_answered_without_speech_is_read_back_as_a_turn() -> None:
    assert read(
        "[You are in the harbour.]\nIt rains.\nPetra waves at Marlo.",
        did("say", "Good day."),
        "Petra gives you the old map.\nIt rains.",
        did("say", "For me?"),
        "Petra smiles.",
        did("emote", "nods to Petra."),
    ) == [
        Turn("", "(Petra waves at you.)", "Good day."),
        Turn("", "(Petra gives you the old map.)", "For me?"),
        Turn("", "(Petra smiles.)", DEED),
    ]


def test_a_line_to_the_character_has_the_answer_and_what_nobody_answered_is_no_turn() -> None:
    assert read('Petra says: "Marlo, hello"\nPetra smiles.\nIt rains.', did("say", "Hello."), "Petra yawns.") == [
        Turn("Petra", "Marlo, hello", "Hello.")
    ]
    assert read('Nell says: "what a day"\nIt rains.', did("say", "Indeed.")) == [Turn("Nell", "what a day", "Indeed.")]
