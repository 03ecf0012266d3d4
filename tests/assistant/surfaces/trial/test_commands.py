from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.surfaces.trial.commands import (
    HELP,
    MAX_LINE_CHARS,
    Channel,
    Command,
    DropPromise,
    Emote,
    ForgetOne,
    Go,
    Handle,
    KeepPeace,
    Look,
    Note,
    Page,
    Say,
    Simple,
    Whisper,
    parse,
)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("Hello Sage", Say("Hello Sage")),
        ("  spaced  ", Say("spaced")),
        ("/whisper psst", Whisper("", "psst")),
        ("/whisper Mira = psst", Whisper("Mira", "psst")),
        ("/page psst", Page("", "psst")),
        ("/page Mira = psst", Page("Mira", "psst")),
        ("/page a = ", Page("", "a =")),
        ("/channel Hello = all", Channel("Hello = all")),
        ("/emote waves", Emote("waves")),
        ("/look", Look("")),
        ("/LOOK old map", Look("old map")),
        ("/take old map", Handle("take", "old map")),
        ("/give map to Mira", Handle("give", "map to Mira")),
        ("/go north", Go("north")),
        ("/who", Simple("who")),
        ("/promises", Simple("promises")),
        ("/promises 2", DropPromise(2)),
        ("/forget 3", ForgetOne(3)),
        ("/quiet", KeepPeace(on=True)),
        ("/quiet off", KeepPeace(on=False)),
        ("/trace", Simple("trace")),
        ("/quit", Simple("quit")),
        ("/help", Simple("help")),
    ],
)
def test_a_line_is_speech_and_a_slash_a_command(line: str, command: Command) -> None:
    assert parse(line) == (command, "")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "\t",
        "/whisper",
        "/page",
        "/channel ",
        "/emote ",
        "/go",
        "/dance",
        "/promises all",
        "/quiet on",
        "/",
        "\x00\x1b[2J",
    ],
)
def test_what_cannot_be_done_is_one_sentence(line: str) -> None:
    command, remark = parse(line)
    assert isinstance(command, Note)
    assert command.text.count("\n") == 0
    assert command.text.endswith(".")
    assert remark == ""


def test_a_hundred_kilobytes_are_cut_and_the_player_told() -> None:
    command, remark = parse("x" * 100_000)
    assert isinstance(command, Say)
    assert len(command.text) <= MAX_LINE_CHARS
    assert "100000" in remark


def test_control_characters_are_left_out_and_the_player_told() -> None:
    assert parse("hel\x07lo\x1b[31m") == (Say("hello"), "Control characters were left out.")


def test_help_names_every_command() -> None:
    for word in ("/whisper", "/page", "/channel", "/emote", "/look", "/go", "/who", "/trace", "/quit"):
        assert word in HELP


@given(st.text(max_size=3000))
def test_no_line_breaks_it(line: str) -> None:
    command, _ = parse(line)
    assert command is not None
