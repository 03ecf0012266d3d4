"""A secret is left out of a stream wherever it was cut, and nothing else is changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.wire.redacting import StreamRedactor


def fed(secret: bytes, pieces: list[bytes]) -> bytes:
    redactor = StreamRedactor(secret)
    return b"".join([*map(redactor.feed, pieces), redactor.rest()])


KEY = "sk-planted/0123456789-abcdefghij"
#: What nobody sees between two signs.
HIDDEN = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u180e\u202e\u034f\u0301\ufe0f\u3164\x7f\x00\U000e0041\U000e0100"
#: What is seen as it is written. No secret has a bracket of the mark.
BYTES = st.text("abc-_ \n\u00e9\u4f60", max_size=8).map(str.encode)


@given(BYTES.filter(bytes.isascii).filter(bool), st.lists(BYTES), st.integers(0, 5))
def test_the_whole_is_as_if_it_had_come_in_one_piece(secret: bytes, pieces: list[bytes], at: int) -> None:
    half = len(secret) // 2
    cut = [*pieces[:at], secret[:half], secret[half:], *pieces[at:]]
    assert fed(secret, cut) == b"".join(cut).replace(secret, b"[key]")


@given(st.lists(st.sampled_from([b"a", b"b", b"ab"])))
def test_what_begins_like_the_secret_is_not_lost(pieces: list[bytes]) -> None:
    assert fed(b"abaab", pieces) == b"".join(pieces).replace(b"abaab", b"[key]")


def test_nothing_is_held_that_cannot_be_the_secret() -> None:
    redactor = StreamRedactor(b"sk-secret")
    assert redactor.feed(b"data: {}\n\n") == b"data: {}\n\n"
    assert redactor.feed(b"tasks") == b"task"
    assert redactor.feed(b" are") == b"s are"
    assert StreamRedactor(b"").feed(b"sk") == b"sk"


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """The key with what is not seen between its signs, each of them as it is or as an escape of JSON."""
    written = []
    for at, sign in enumerate(KEY):
        hidden = draw(st.text(HIDDEN, max_size=2)) if at else ""
        as_escape = draw(st.integers(0, 3)) == 0
        written.append(json.dumps(hidden)[1:-1].replace("\\b", "") if draw(st.booleans()) else hidden)
        written.append(draw(st.sampled_from([f"\\u{ord(sign):04x}", f"\\u{ord(sign):04X}"])) if as_escape else sign)
    return "".join(written).replace("/", draw(st.sampled_from(["/", "\\/"])))


@given(
    disguised(),
    st.lists(st.integers(1, 9), min_size=1),
    st.sampled_from(["", "s", "sk-", "sk-planted", "\\", "\u200b"]),
)
def test_a_secret_that_is_not_seen_as_itself_is_left_out(key: str, cuts: list[int], around: str) -> None:
    data = f'{{"a": "{around}{key}{around}"}}'.encode()
    pieces, at = [], 0
    for turn in range(len(data)):
        pieces.append(data[at : at + cuts[turn % len(cuts)]])
        at += cuts[turn % len(cuts)]
    assert fed(KEY.encode(), pieces) == f'{{"a": "{around}[key]{around}"}}'.encode()


@given(
    st.lists(st.sampled_from(["s", "sk", "sk-plan", "\u200b", "\\u200b", "\\u0073", "\\", "\\u", "\u00e9", "k", "0"])),
    st.integers(1, 7),
)
def test_what_is_no_secret_comes_out_as_it_was(pieces: list[str], cut: int) -> None:
    data = "".join(pieces).encode()
    assert fed(KEY.encode(), [data[at : at + cut] for at in range(0, len(data), cut)]) == data


@pytest.mark.parametrize("hidden", ["\u200b", "\\u200b"])
def test_hidden_signs_without_end_fill_no_memory(hidden: str) -> None:
    redactor = StreamRedactor(KEY.encode())
    out = redactor.feed(f"a {KEY[:7]}".encode())
    for _ in range(100):
        out += redactor.feed(hidden.encode() * 500)
        assert len(redactor._held) <= 4096
    assert out + redactor.feed(f"{KEY[7:]} b".encode()) + redactor.rest() == b"a [key] b"
