from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.surfaces.trial.commands import HELP, parse
from mud_assistant.assistant.surfaces.trial.terminal import completed
from mud_assistant.assistant.surfaces.trial.wrapping import MIN_COLUMNS, width, wrapped
from mud_assistant.tools import Person, Scene, Thing

SCENE = Scene(
    "Library", "Books.", ("south", "up"), (Person("Sage"), Person("Old Tom")), (Thing("old map"), Thing("hearth"))
)
TEXTS = st.text(
    st.sampled_from("ab漢字、かé\u0301\u200d👩🌾 -.\n") | st.characters(exclude_categories=["Cc", "Cs"]), max_size=200
)


@given(TEXTS, st.integers(MIN_COLUMNS, 90))
def test_every_line_fits_and_nothing_but_blanks_is_lost(text: str, columns: int) -> None:
    shown = wrapped(text, columns)
    assert all(width(line) <= columns for line in shown.split("\n"))
    assert "".join(shown.split()) == "".join(text.split())
    assert wrapped(shown, columns).replace(" ", "") == shown.replace(" ", "")


def test_words_stay_whole_and_a_table_goes_on_below_itself() -> None:
    assert wrapped("one two three four five six seven", 20) == "one two three four\nfive six seven"
    assert wrapped("  /go EXIT    leave by an exit that is there", 36) == (
        "  /go EXIT    leave by an exit that\n              is there"
    )
    assert wrapped("    indented words go on below", 20) == "    indented words\n    go on below"
    assert all(width(line) <= 80 for line in wrapped(HELP, 80).split("\n"))


def test_wide_characters_count_twice_and_clusters_stay_together() -> None:
    assert wrapped("漢字" * 10, 20) == "漢字" * 5 + "\n" + "漢字" * 5
    assert wrapped("漢字" * 5 + "。かな", 20) == "漢字" * 4 + "漢" + "\n字。かな"
    for line in wrapped("e\u0301" * 50 + "👩\u200d🌾" * 30, 21).split("\n"):
        assert line[0] not in "\u0301\u200d"
        assert not line.endswith("\u200d")


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("/wh", ["/whisper ", "/who"]),
        ("/sta", ["/status"]),
        ("/HE", ["/help"]),
        ("/go s", ["south"]),
        ("/look o", ["Old Tom", "old map"]),
        ("/look old m", ["old map"]),
        ("/whisper sa", ["Sage = "]),
        ("/whisper Sage = is the hea", ["hearth"]),
        ("/emote waves at old t", ["Old Tom"]),
        ("Sage, give me the old m", ["old map"]),
        ("nothing like i", []),
        ("a word sage", ["Sage"]),
        ("/status x", []),
    ],
)
def test_what_tab_completes(line: str, whole: list[str]) -> None:
    assert [text for text, _ in completed(line, SCENE)] == whole


def test_every_command_of_the_help_is_completed_and_known() -> None:
    commands = [text for text, _ in completed("/", None)]
    assert commands == [text for text, _ in completed("", SCENE)]
    assert "/quit" in commands
    for command in commands:
        assert "There is no" not in str(parse(command)[0])
    assert completed("Hello Sa", None) == []
