from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mud_assistant.assistant.worlds.telnet.wire.text import MOST_LINE, LineTooLong, TextReader
from mud_assistant.assistant.worlds.telnet.wire.wire_events import HeardLine, Prompt

POINTS = re.compile(r"\d+H \d+M \d+V (?:\(\w+\) )*> ")


def read(
    cuts: Iterable[bytes], prompt: re.Pattern[str] | None = None, *, quiet: bool = True
) -> list[HeardLine | Prompt]:
    reader = TextReader(prompt)
    events = [event for cut in cuts for event in reader.feed(cut)]
    return events + (list(reader.quiet()) if quiet else [])


def every_cut(data: bytes, prompt: re.Pattern[str] | None = None) -> list[HeardLine | Prompt]:
    """Return what comes of the bytes, which is the same in two pieces and in bytes."""
    whole = read([data], prompt)
    assert read((bytes([byte]) for byte in data), prompt) == whole
    assert all(read([data[:at], data[at:]], prompt) == whole for at in range(len(data)))
    return whole


def lines(data: bytes) -> list[str]:
    return [event.text for event in every_cut(data)]


@pytest.mark.parametrize("end", [b"\r\n", b"\n\r", b"\n", b"\r\0", b"\r\r\n", b"\r\x1b[0m\n"])
def test_every_end_of_a_line_is_one(end: bytes) -> None:
    assert lines(b"one" + end + b"two" + end) == ["one", "two"]
    assert lines(b"one" + end + end + b"two" + end) == ["one", "", "two"]


def test_a_return_alone_overwrites_the_line() -> None:
    assert lines(b"loading 10%\rloading 99%\rdone\r\n") == ["done"]


def test_control_characters_are_no_text() -> None:
    assert lines(b"\x07\x07b\x00e\x7fl\x08ll\tand\x01 more\n") == ["bell and more"]


@pytest.mark.parametrize(
    "sequence",
    [
        *(b"\x1b[0m", b"\x1b[1;31m", b"\x1b[38;5;208m", b"\x1b[K", b"\x1b]8;;http://a\x1b\\", b"\x1b]0;title\x07"),
        *(b"\x1b(B", b"\x1b7", b"\x1b[?25l", b"\x1bPq\x1b\\", b"\xc2\x9b31m"),
    ],
)
def test_sequences_are_no_text(sequence: bytes) -> None:
    assert lines(b"be" + sequence + b"fore\n" + sequence + b"after" + sequence + b"\n") == ["before", "after"]


def test_half_a_sequence_ends_with_its_line() -> None:
    assert lines(b"one\x1b[1;3\r\ntwo\x1b]0;tit\r\nthree\x1b\r\nfour\r\n") == ["one", "two", "three", "four"]


def test_what_moves_the_cursor_away_ends_the_line() -> None:
    assert lines(b"Detecting...\x1b[H\x1b[JWelcome\x1b[5CBob\r\n") == ["Detecting...", "Welcome Bob"]


@pytest.mark.parametrize(
    ("data", "colours", "colour"),
    [
        (b"\x1b[0;31mA tell\x1b[0m\r\n", ((0, "red"),), "red"),
        (b"  \x1b[1;34mTown\x1b[0m is blue\r\n", ((2, "bright blue"), (6, "")), "bright blue"),
        (b"\x1b[1m\x1b[0;32m\x1b[1mx\r\n", ((0, "bright green"),), "bright green"),
        (b"\x1b[38;5;208mx\x1b[38;2;255;0;16my\x1b[48;5;3;39mz\r\n", ((0, "208"), (1, "#ff0010"), (2, "")), "208"),
        (b"\x1b[95mx\x1b[22m\x1b[35my\r\n", ((0, "bright magenta"), (1, "magenta")), "bright magenta"),
        (b"plain \x1b[31mred\r\n", ((6, "red"),), ""),
        (b"\x1b[31m\x1b[999;99999999999999999mx\x1b[38m\x1b[38;9my\r\n", ((0, "red"),), "red"),
    ],
)
def test_colours_are_kept_where_they_begin(data: bytes, colours: tuple[tuple[int, str], ...], colour: str) -> None:
    [line] = every_cut(data)
    assert isinstance(line, HeardLine)
    assert (line.colours, line.colour) == (colours, colour)


def test_a_colour_lasts_until_the_next_one() -> None:
    first, second = every_cut(b"\x1b[36mone\r\ntwo\x1b[0m\r\n")
    assert isinstance(first, HeardLine)
    assert isinstance(second, HeardLine)
    assert (first.colour, second.colour) == ("cyan", "cyan")


def test_text_is_utf_8_until_a_byte_says_that_it_is_latin_1() -> None:
    assert lines("naïve ☃\r\n".encode()) == ["naïve ☃"]
    assert lines("naïve ☃\r\n".encode() + b"na\xefve\r\n" + "ï\r\n".encode()) == ["naïve ☃", "naïve", "Ã¯"]
    assert lines(b"\xe2\x98 half\r\n") == ["â half"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_known_encoding_is_never_given_up(encoding: str) -> None:
    reader = TextReader(encoding=encoding)
    assert [event.text for event in reader.feed(b"na\xefve\r\nso\r\n")] == ["na�ve", "so"]


def test_an_encoding_agreed_on_in_the_middle_of_a_character_loses_nothing() -> None:
    reader = TextReader()
    half, rest = "é\r\n".encode()[:1], "é\r\n".encode()[1:]
    assert list(reader.feed(half)) == []
    reader.know("utf-8")
    assert list(reader.feed(rest)) == [HeardLine("é")]


def test_the_games_prompt_is_known_without_silence() -> None:
    talk = b"You say, 'Hi.'\r\n\r\n19H 100M 84V (news) (motd) > "
    said = [HeardLine("You say, 'Hi.'"), HeardLine(""), Prompt("19H 100M 84V (news) (motd) >")]
    assert every_cut(talk, POINTS) == said
    more = b"\r\nBob says, 'No.'\r\n\r\n1H 2M 3V > Your turn.\r\n"
    assert every_cut(talk + more, POINTS) == [
        *said, HeardLine("Bob says, 'No.'"), HeardLine(""), Prompt("1H 2M 3V >"), HeardLine("Your turn."),
    ]  # fmt: skip


def test_a_prompt_inside_a_line_is_text() -> None:
    assert every_cut(b"Bob says, '1H 2M 3V > '\r\n", POINTS) == [HeardLine("Bob says, '1H 2M 3V > '")]


def test_two_prompts_in_a_row_are_two_and_a_prompt_overwritten_is_one() -> None:
    prompt = Prompt("1H 2M 3V >")
    assert every_cut(b"1H 2M 3V > 1H 2M 3V > x\r\n", POINTS) == [prompt, prompt, HeardLine("x")]
    assert every_cut(b"1H 2M 3V > \rx\r\n", POINTS) == [prompt, HeardLine("x")]
    assert every_cut(b"1H 2M 3V > \b\bx\r\n", POINTS) == [prompt, HeardLine("x")]


def test_a_mark_makes_a_prompt_of_an_open_line_only() -> None:
    reader = TextReader()
    assert list(reader.feed(b"one\r\n")) == [HeardLine("one")]
    assert list(reader.mark()) == []
    assert list(reader.feed(b"What is your name? ")) == []
    assert list(reader.mark()) == [Prompt("What is your name?")]
    assert list(reader.feed(b"two\r\n")) == [HeardLine("two")]


def test_silence_makes_a_prompt_once_and_the_line_may_go_on() -> None:
    reader = TextReader()
    assert list(reader.feed(b"Bob says, 'Hel")) == []
    assert list(reader.quiet()) == [Prompt("Bob says, 'Hel")]
    assert list(reader.quiet()) == []
    assert list(reader.feed(b"lo.'\r\n")) == [HeardLine("Bob says, 'Hello.'")]


def test_a_line_that_comes_without_its_end_is_a_line_when_it_ends() -> None:
    reader = TextReader()
    assert list(reader.feed(b"Bob says, 'Hello.'")) == []
    assert list(reader.quiet()) == [Prompt("Bob says, 'Hello.'")]
    assert list(reader.feed(b"\r\n")) == [HeardLine("Bob says, 'Hello.'")]
    assert [*reader.feed(b"Bob leaves.\r"), *reader.quiet()] == []
    assert list(reader.feed(b"\n")) == [HeardLine("Bob leaves.")]


def test_a_prompt_of_silence_that_is_answered_is_not_part_of_what_comes() -> None:
    reader = TextReader()
    assert list(reader.feed(b"Password: ")) == []
    assert list(reader.quiet()) == [Prompt("Password:")]
    reader.typed()
    assert list(reader.feed(b"Wrong.\r\n")) == [HeardLine("Wrong.")]
    assert list(reader.feed(b"Password: ")) == []
    assert [*reader.quiet(), *reader.mark()] == [Prompt("Password:")]
    assert list(reader.feed(b"\r\nBob arrives.\r\n")) == [HeardLine(""), HeardLine("Bob arrives.")]


def test_lines_between_programs_are_never_heard() -> None:
    talk = b"#$#mcp version: 2.1 to: 2.1\r\nWelcome.\r\n#$#* 12 x: #$#\r\n#$#: 12\r\nBob says #$#mcp.\r\n\x1b[0m#$#end"
    assert every_cut(talk) == [HeardLine("Welcome."), HeardLine("Bob says #$#mcp.")]


@pytest.mark.parametrize("beginning", [b"#", b"#$", b"#$#", b"#$#mcp"])
def test_the_beginning_of_a_line_between_programs_is_no_prompt(beginning: bytes) -> None:
    reader = TextReader()
    assert [*reader.feed(beginning), *reader.quiet(), *reader.mark()] == []


def test_a_line_without_end_is_refused() -> None:
    reader = TextReader()
    assert list(reader.feed(b"x" * MOST_LINE)) == []
    with pytest.raises(LineTooLong):
        list(reader.feed(b"x"))
    with pytest.raises(LineTooLong):
        list(TextReader().feed(b"\x1b]" + b"x" * 5000))


PARTS = st.sampled_from(
    [
        *(b"\r", b"\n", b"\0", b"\x1b", b"[", b"]", b"3", b"1;", b"m", b"H", b"\\", b"\x07", b"\b", b"a", b" ", b"> "),
        *(b"\xc3", b"\xa9", b"\xff", b"#$#", b"1H 2M 3V > ", b"\x9b", b"\xe2\x98"),
    ]
)


@given(st.lists(PARTS, max_size=30))
@example([b"1H 2M 3V > ", b"\xc3", b"\xa9", b"\r", b"\n"])
def test_no_cut_matters(parts: list[bytes]) -> None:
    for prompt in (None, POINTS):
        reader = partial(read, prompt=prompt)
        assert reader(parts) == reader([b"".join(parts)]) == reader(bytes([byte]) for byte in b"".join(parts))
