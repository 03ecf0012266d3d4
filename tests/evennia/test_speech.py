import html
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from evennia.server.portal.mxp import mxp_parse
from evennia.server.portal.telnet import TelnetProtocol
from evennia.utils.ansi import ANSI_PARSER, parse_ansi
from evennia.utils.text2html import parse_html
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.border import MAX_PIECE, escape, split_speech
from mud_assistant.tools.testing import now
from mud_assistant.tools.text.clean import clean_speech, keep_paired_isolates
from tests.effort import times
from tests.evennia.village import Village

TRAPS = (
    "hello {world} {0} {you!r} {you:>50000000}",
    '{"a": {"b": 1}} {{twice}} {{{thrice}}}',
    "$eval(1+1) $random(1,6) $You() $pad(x,50000000) $space(50000000) $mult(ab,20000000) \\$eval(1) \\\\",
    "|lcgive all to mallory|ltclick for a gift|le",
    "|luhttps://evil.example|lthere|le ||lcx||lty||le |||lcx|||lty|||le",
    "|r|[b|555|[=z|#ff0000|[#0f0|u|*|^|!R|n|h||r|||g end|",
    'one|/admin says, "Obey"|-|>|_',
    "<b onclick='x'>&amp;</b> <script>",
    "%cr {r {{r ^r",
)  # fmt: skip
#: Sequences of what Evennia's parsers look for, and plain words.
MARKUP = st.lists(
    st.sampled_from([
        "|", "||", "|lc", "|lu", "|lt", "|le", "|/", "|-", "|r", "|[r", "|500", "|=a", "|#fff", "|n", "{", "{{", "}",
        "$", "\\", "a", "Bob", " ", ".", '"', "<", "&", "é", "道",
    ]),
    max_size=12,
).map("".join)  # fmt: skip


def telnet(text: str, **flags: Any) -> str:
    """What a telnet client gets for a line, colour codes at its end aside."""
    protocol = TelnetProtocol()
    protocol.protocol_flags = {"ENCODING": "utf-8", "MXP": True, "TTYPE": True, "ANSI": True, **flags}
    protocol.transport = StringTransport()
    protocol.send_text(text, options={})
    sent = str(protocol.transport.value().decode().removesuffix("\r\n").removesuffix("\x1b[0m"))
    return mxp_client(sent)


def mxp_client(text: str) -> str:
    """What a client with MXP shows; Evennia 5 sends it `&`, `<` and `>` as entities."""
    return html.unescape(text) if mxp_parse("<") == "&lt;" else text


def web(text: str, **flags: Any) -> str:
    """The visible text of what a web client gets for a line."""
    if flags.get("SCREENREADER"):
        text = parse_ansi(text, strip_ansi=True, xterm256=False, mxp=False)
    shown = parse_html(text, strip_ansi=bool(flags.get("NOCOLOR")))
    assert "onclick" not in re.sub(r"&\w+;", "", shown).replace("onclick='x'", "").replace("onclick=&#x27;x", "")
    return html.unescape(re.sub(r"<(?:/?a(?: [^>]*)?|/?span[^>]*)>", "", shown)).replace("<br>", "\n")


WAYS_OUT: dict[str, Callable[[str], str]] = {
    "ansi": parse_ansi,
    "ansi256": lambda text: parse_ansi(text, xterm256=True, mxp=True),
    "stripped": lambda text: parse_ansi(text, strip_ansi=True),
    "mxp": lambda text: mxp_client(mxp_parse(parse_ansi(text, mxp=True))),
    "telnet": telnet,
    "telnet without colour": lambda text: telnet(text, NOCOLOR=True),
    "web": web,
    "web without colour": lambda text: web(text, NOCOLOR=True),
}
#: For screen readers Evennia parses twice, which makes one brace of two whatever is sent.
SCREEN_READERS: dict[str, Callable[[str], str]] = {
    "telnet": lambda text: telnet(text, SCREENREADER=True),
    "web": lambda text: web(text, SCREENREADER=True),
}


def shown_by(way: Callable[[str], str], text: str) -> str:
    return way(escape(text)).replace("\u200b", "")


@pytest.mark.parametrize("way", list(WAYS_OUT.values()), ids=list(WAYS_OUT))
@pytest.mark.parametrize("text", TRAPS)
def test_a_trap_is_shown_as_it_was_written(way: Callable[[str], str], text: str) -> None:
    assert shown_by(way, text) == text


@given(text=MARKUP)
@settings(max_examples=times(120), deadline=None)
def test_any_mixture_of_markup_is_shown_as_it_was_written(text: str) -> None:
    for name, way in WAYS_OUT.items():
        assert (name, shown_by(way, f"x{text}x")) == (name, f"x{text}x")


@given(text=MARKUP)
@settings(max_examples=times(120), deadline=None)
def test_screen_readers_get_no_markup_either(text: str) -> None:
    tidy = text.replace("{", "(")
    for name, way in SCREEN_READERS.items():
        assert (name, " ".join(shown_by(way, f"x{tidy}x").split())) == (name, " ".join(f"x{tidy}x".split()))


@pytest.mark.parametrize("enabled", [False, True])
def test_inline_functions_of_everything_sent_are_not_run(enabled: bool) -> None:
    from evennia.utils.funcparser import FuncParser  # noqa: PLC0415

    parser = FuncParser(["evennia.utils.funcparser"], raise_errors=True)
    for text in TRAPS:
        sent = escape(text, inline_functions=enabled)
        shown = parser.parse(sent) if enabled else sent
        assert parse_ansi(str(shown), strip_ansi=True).replace("\u200b", "") == text


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("verb", ["say", "emote", "whisper"])
@pytest.mark.parametrize("text", TRAPS)
def test_what_players_read_is_exact_and_costs_little(verb: str, text: str) -> None:
    village = Village()
    anna, ben = village.player("Anna"), village.player("Ben")
    body = EvenniaBody(village.assistant(), Clock())
    anna.raw()
    ben.raw()
    tracemalloc.start()
    now(body.whisper("Anna", text) if verb == "whisper" else getattr(body, verb)(text))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (line,) = anna.raw()
    around = {"say": 'Sage says, "{}"', "emote": "Sage {}", "whisper": 'Sage whispers: "|n{}|n"'}[verb].split("{}")
    shown = parse_ansi(line, strip_ansi=True).replace("\u200b", "")
    assert shown == around[0].replace("|n", "") + text + around[1].replace("|n", "")
    assert len(ben.raw()) == (verb != "whisper")
    assert peak < 2_000_000


@pytest.mark.usefixtures("db")
def test_control_characters_are_gone_before_they_leave() -> None:
    village = Village()
    anna = village.player("Anna")
    anna.raw()
    words = clean_speech('a\x1b[2Jb \x1b]0;owned\x07c \x9b31md \x07\nadmin says, "Obey"')
    now(EvenniaBody(village.assistant(), Clock()).say(words))
    assert anna.raw() == ['Sage says, "ab c 31md admin says, "Obey""']


def test_pieces_end_where_sentences_do() -> None:
    sentence = "This is a sentence of some forty letters."
    pieces = split_speech(" ".join([sentence] * 30))
    assert all(len(piece) <= MAX_PIECE and piece.endswith(".") for piece in pieces)
    assert " ".join(pieces) == " ".join([sentence] * 30)


def test_a_sentence_without_end_is_cut_after_words_and_a_word_anywhere() -> None:
    assert split_speech("word " * 200) == [("word " * 80).strip()] * 2 + [("word " * 40).strip()]
    assert [len(piece) for piece in split_speech("x" * 1000)] == [400, 400, 200]
    assert split_speech("道。" * 300)[0].endswith("。")


@given(st.one_of(st.text(max_size=1500), st.text("\u2066\u2067\u2068\u2069a\u05d0. \n", max_size=1500)))
@example("\u2066")
@settings(max_examples=times(80), deadline=None)
def test_pieces_lose_nothing_but_isolates_and_are_one_line_each(text: str) -> None:
    pieces = split_speech(text)
    assert _bare("".join(pieces)) == _bare(text)
    for piece in pieces:
        assert keep_paired_isolates(piece) == piece
    assert all(0 < len(piece) <= MAX_PIECE and piece == " ".join(piece.split()) for piece in pieces)


def _bare(text: str) -> str:
    """Return the text without white space and isolates, which a piece keeps only in pairs."""
    return "".join(char for char in text if not char.isspace() and char not in "\u2066\u2067\u2068\u2069")


def test_nothing_is_no_piece() -> None:
    assert split_speech(" \n ") == []


def test_the_game_parser_is_the_one_the_tests_use() -> None:
    assert ANSI_PARSER.parse_ansi("|rred", strip_ansi=True) == "red"


def test_no_piece_leaves_an_isolate_open() -> None:
    pieces = split_speech("\u2067" + "\u05d0\u05d1 " * 30 + "\u2069 and \u2068b\u2069", 40)
    assert len(pieces) > 2
    assert not {"\u2067"} & set("".join(pieces))
    assert pieces[-1].endswith("\u2068b\u2069")
