"""A secret is left out of a stream wherever it was cut, and nothing else is changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llm.wire.redacting import StreamRedactor


def fed(secret: bytes, pieces: list[bytes]) -> bytes:
    redactor = StreamRedactor(secret)
    return b"".join([*map(redactor.feed, pieces), redactor.rest()])


#: No secret has a bracket of the mark.
BYTES = st.binary(max_size=8).map(lambda data: data.translate(None, b"[]"))


@given(BYTES.filter(bool), st.lists(BYTES), st.integers(0, 5))
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
