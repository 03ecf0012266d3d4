"""The lines that are typed are the profile's, whatever stands in their holes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.worlds.telnet.profiles.profile import read_profile
from mud_assistant.assistant.worlds.telnet.typed_commands import (
    harmless,
    line_to_type,
    resolve_line,
    typed,
    typed_words,
)
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand

PROFILE = read_profile(
    """
[verbs]
say = "say {text}"
whisper = 'whisper "{text}" to {who}'
emote = ""
separators = ";"
longest = 60
[verbs.others]
open = "open {thing}"
give = "give {thing} to {who}"
wave = "wave"
""",
    "own.toml",
)


@given(st.text(max_size=300))
def test_whatever_is_said_is_one_line_without_separators(text: str) -> None:
    try:
        words = typed_words(PROFILE, text)
    except ToolFailed:
        return
    line = typed(PROFILE, "say", text=words)
    assert line.startswith("say ")
    assert len(line) <= 64
    assert not set(line) & set(";\r\n\x00\x1b")
    assert typed_words(PROFILE, words) == words


@given(st.text(max_size=100), st.text(max_size=50))
def test_words_in_quotation_marks_stay_in_them(text: str, who: str) -> None:
    line = typed(PROFILE, "whisper", text=text, who=who.replace('"', ""))
    assert line.count('"') == 2


@given(st.text(max_size=120))
def test_no_line_is_typed_that_is_not_of_the_table(line: str) -> None:
    try:
        command = resolve_line(PROFILE, line)
    except ToolFailed:
        return
    assert line_to_type(PROFILE, command).split(" ")[0] in {"open", "give", "wave"}


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("open the gate", "open the gate"),
        ("OPEN gate", "open gate"),
        ("give old map to Anna Bell", "give old map to Anna Bell"),
        ("give map Anna", "give map to Anna"),
        ("give a;quit to Anna", "give a,quit to Anna"),
        ("wave", "wave"),
    ],
)
def test_a_line_of_the_table_is_typed_as_it_says(line: str, sent: str) -> None:
    assert line_to_type(PROFILE, resolve_line(PROFILE, line)) == sent


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "There is no command '' for you here. There are: open, give, wave."),
        ("quit", "There is no command 'quit' for you here."),
        ("say hi", "There is no command 'say hi' for you here."),
        ("open", "To open, say also: thing."),
        ("give map", "To give, say also: thing."),
        ("wave at Anna", "'wave' is typed alone."),
    ],
)
def test_any_other_line_is_refused(line: str, sentence: str) -> None:
    with pytest.raises(ToolFailed) as refused:
        resolve_line(PROFILE, line)
    assert str(refused.value).startswith(sentence)
    with pytest.raises(ToolFailed):
        line_to_type(PROFILE, GameCommand(line, "open"))


def test_an_act_without_a_line_is_refused() -> None:
    with pytest.raises(ToolFailed, match="This game has no line to emote"):
        typed(PROFILE, "emote", text="smiles")
    assert harmless(PROFILE, " a ;\n b ") == "a , b"
