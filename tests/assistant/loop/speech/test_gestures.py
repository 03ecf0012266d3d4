"""What of a text is done and what is said: cases as models write them, and what holds for any text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.loop.speech.gestures import SpokenWords, act_out, split_gestures
from mud_assistant.assistant.loop.speech.sentence import first_sentence
from mud_assistant.llm import ToolCall
from tests.effort import times

MARKS = st.sampled_from(["*", "**", "(", ")", " ", " ", ". ", "? ", "\n", ", ", " - ", '"'])
WORDS = st.sampled_from(
    ["smiles", "Eat", "leans", "in", "I", "really", "his", "Sage", "nods", "ok", "Tom", "bowl", "5"]
)
TEXTS = st.lists(MARKS | WORDS, max_size=25).map("".join)


@pytest.mark.parametrize(
    ("text", "words", "before", "after"),
    [
        ("*slides a bowl over* Eat.", "Eat.", "slides a bowl over.", ""),
        ("Eat. *slides a bowl over*", "Eat.", "", "slides a bowl over."),
        ("*smiles*", "", "smiles.", ""),
        ("(smiles) Good evening.", "Good evening.", "smiles.", ""),
        ("**nods** Yes.", "Yes.", "nods.", ""),
        ("Good evening. *slides a bowl over* It is hot.", "Good evening. It is hot.", "", "slides a bowl over."),
        ("Well, *sighs* I suppose so.", "Well, I suppose so.", "", "sighs."),
        ("Yes. (nods) Go on. *points north* There.", "Yes. Go on. There.", "", "nods, then points north."),
        ('*Smiles warmly.* "Hello there."', '"Hello there."', "smiles warmly.", ""),
        ("*He leans in.* Who sent you?", "Who sent you?", "leans in.", ""),
        ("*Sage nods* Yes.", "Yes.", "nods.", ""),
        ("*slowly shakes his head* No.", "No.", "slowly shakes his head.", ""),
        ("*with a smile* Hello.", "Hello.", "speaks with a smile.", ""),
        ("*laughing softly* Oh dear.", "Oh dear.", "is laughing softly.", ""),
        ("*wipes the bar*\nWhat will it be?\n*leans closer*", "What will it be?", "wipes the bar.", "leans closer."),
        ("*l\u00e4chelt* Guten Abend.", "Guten Abend.", "l\u00e4chelt.", ""),
        ("*stellt eine Schale hin* Iss.", "Iss.", "stellt eine Schale hin.", ""),
        ("*his eyes narrow* Who sent you?", "Who sent you?", "", ""),  # cannot follow a name
        ("*nods slowly* mm, yes.", "mm, yes.", "nods slowly.", ""),
        ("*I slide a bowl over* Eat.", "I slide a bowl over. Eat.", "", ""),
        ("I *really* mean it.", "I really mean it.", "", ""),
        ("*Never* do that.", "Never do that.", "", ""),
        ("I said *no*. Go away.", "I said no. Go away.", "", ""),
        ("The *Heron* sails at dawn.", "The Heron sails at dawn.", "", ""),
        ("*Sometimes* I wonder.", "Sometimes I wonder.", "", ""),
        ("It was **very** cold, and *always* dark.", "It was very cold, and always dark.", "", ""),
        ("I keep the lamps (and my counsel).", "I keep the lamps (and my counsel).", "", ""),
        ("He left. (Nobody knows why.)", "He left. (Nobody knows why.)", "", ""),
        ("She said (smiles) yes.", "She said (smiles) yes.", "", ""),
        ("2 * 3 * 4 is 24.", "2 * 3 * 4 is 24.", "", ""),
        ("* one\n* two", "* one\n* two", "", ""),
        ("It costs 5* coins", "It costs 5* coins", "", ""),
        ("*smiles and", "smiles and", "", ""),
        ("Yes. *opens the door and", "Yes. opens the door and", "", ""),
    ],
)
def test_what_is_done_is_told_from_what_is_said(text: str, words: str, before: str, after: str) -> None:
    assert split_gestures(text, "Sage") == SpokenWords(words, before, after)


@given(st.text(st.characters(exclude_characters="*("), max_size=60))
def test_a_text_without_marks_is_said_as_it_is(text: str) -> None:
    assert split_gestures(text, "Sage") == SpokenWords(text)


@settings(max_examples=times(200))
@given(TEXTS)
def test_words_are_never_changed_and_none_is_made_up(text: str) -> None:
    spoken = split_gestures(text, "Sage")
    told = re.findall(r"\w+", f"{spoken.before} {spoken.words} {spoken.after}")
    own = {"is", "speaks", "then"}
    assert {word.casefold() for word in told} - own <= {word.casefold() for word in re.findall(r"\w+", text)}
    assert not {"*"} & {*spoken.before, *spoken.after} or "*" in text


@settings(max_examples=times(200))
@given(st.lists(WORDS, min_size=1, max_size=8), TEXTS)
def test_what_stands_before_the_first_mark_is_said_as_it_stands(begin: list[str], rest: str) -> None:
    begun = " ".join(begin)
    assert split_gestures(f"{begun} {rest}", "Sage").words.startswith(begun)


@settings(max_examples=times(200))
@given(TEXTS, st.data())
def test_a_first_sentence_without_marks_is_the_beginning_of_the_whole(text: str, data: st.DataObject) -> None:
    text = f"Good evening to you, traveller. {text}"
    sentence = first_sentence(text[: data.draw(st.integers(0, len(text)))])
    if sentence and "*" not in sentence and split_gestures(sentence, "Sage").words == sentence:
        assert split_gestures(text, "Sage").words.startswith(sentence)


@given(TEXTS)
def test_what_was_acted_out_is_acted_out(text: str) -> None:
    first = act_out([ToolCall("1", "say", {"text": text})], "Sage", 3, may_emote=lambda: True)
    assert [call.id for call in first] == list(dict.fromkeys(call.id for call in first))
    again = act_out(first, "Sage", 0, may_emote=lambda: False)
    assert [call.name for call in again] == [call.name for call in first]


def test_a_gesture_takes_no_turn_from_the_words() -> None:
    call = ToolCall("1", "say", {"text": "*nods* Yes. *smiles*"})
    for most, names in ((1, ["say"]), (2, ["emote", "say"]), (3, ["emote", "say", "emote"])):
        assert [one.name for one in act_out([call], "Sage", most, may_emote=lambda: True)] == names


def test_what_is_said_in_private_is_shown_to_nobody_else() -> None:
    call = ToolCall("1", "whisper", {"target": "Ann", "text": "*slides a letter over* Read it."})
    [whispered] = act_out([call], "Sage", 3, may_emote=lambda: True)
    assert whispered.arguments == {"target": "Ann", "text": "Read it."}
