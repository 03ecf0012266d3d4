from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.source.protocol import KEEP_SHARE, ReadResult, cut_at, part_of


def whole(text: str) -> ReadResult:
    return ReadResult("https://h/", "T", text, len(text), len(text), notes=("a note",))


@given(st.text(st.sampled_from("ab. \n"), max_size=400), st.integers(1, 60))
def test_the_parts_one_after_the_other_are_the_page(text: str, most: int) -> None:
    page, parts, offset = whole(text), [], 0
    while True:
        part = part_of(page, offset, most)
        assert part.content_length == len(part.content) <= most
        assert part.original_length == len(text)
        assert part.truncated == (part.content != text)
        parts.append(part.content)
        offset += part.content_length
        if offset >= len(text):
            break
        assert part.content_length > most * KEEP_SHARE - 1
    assert "".join(parts) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One two.\n\nThree\nfour. Five six", "One two.\n\n"),
        ("One two. Three\nfour five six", "One two. Three\n"),
        ("One two. Three four five six", "One two. Three "),
        ("Onetwo. Thr. four five six", "Onetwo. Thr. "),
        ("Onetwothreefourfivesixseven", "Onetwothreefour"),
        ("A\n\nOnetwothreefourfivesixseven", "A\n\nOnetwothreef"),
        ("short", "short"),
    ],
)
def test_a_cut_falls_where_a_reader_would_stop(text: str, kept: str) -> None:
    assert text[: cut_at(text, 0, 15)] == kept


def test_odd_offsets_and_lengths_are_taken_as_meant() -> None:
    page = whole("0123456789")
    assert part_of(page, -5, 4).content == "0123"
    assert part_of(page, 8, 4) == replace(page, content="89", content_length=2, truncated=True)
    assert part_of(page, 99, 4) == replace(page, content="", content_length=0, truncated=True)
    assert part_of(page, 0, -1).content == ""
    assert part_of(page, 0, 10) == page


def test_a_page_that_was_cut_before_stays_truncated_and_keeps_its_length() -> None:
    cut = ReadResult("u", "T", "0123", 4, 900, truncated=True)
    assert part_of(cut, 0, 100) == cut
