"""Numbers, marks and the footer."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.cite import MAX_SHOWN, Citations, NumberedSource, check_marks, footer


def sources(count: int) -> Citations:
    citations = Citations()
    for number in range(1, count + 1):
        citations.number(f"https://e{number}.org/", f"Title {number}")
    return citations


def test_one_url_has_one_number_found_or_opened() -> None:
    citations = Citations()
    assert citations.number("https://e.org/a", "") == 1
    assert citations.number("https://e.org/b", "B") == 2
    assert citations.number("HTTPS://E.org:443/a#part", "A") == 1
    assert citations.number("https://e.org/a", "Other") == 1
    assert [(one.number, one.title) for one in citations.known] == [(1, "A"), (2, "B")]
    assert [one.url for one in citations.of((2, 7, 0, 1, -1))] == ["https://e.org/b", "https://e.org/a"]


@pytest.mark.parametrize(
    ("text", "left", "used"),
    [
        ("It rained [1].", "It rained [1].", (1,)),
        ("It rained[2], then snowed [1].", "It rained[2], then snowed [1].", (2, 1)),
        ("It rained [9].", "It rained.", ()),
        ("It rained [9] and snowed [3].", "It rained and snowed [3].", (3,)),
        ("It rained[9][1].", "It rained[1].", (1,)),
        ("It rained [9] [1].", "It rained [1].", (1,)),
        ("It rained [1][9].", "It rained [1].", (1,)),
        ("It rained [1, 9, 3].", "It rained [1, 3].", (1, 3)),
        ("It rained [1-3].", "It rained [1-3].", (1, 2, 3)),
        ("It rained [2\u20135].", "It rained [2, 3].", (2, 3)),
        ("It rained [7, 8].", "It rained.", ()),
        ("It rained ([9]).", "It rained.", ()),
        ("It rained ([2]).", "It rained ([2]).", (2,)),
        ("It rained (see [9]).", "It rained (see).", ()),
        ("It rained\u30101\u2020L5-L9\u3011.", "It rained[1].", (1,)),
        ("It rained\u30109\u2020source\u3011.", "It rained.", ()),
        ('"It rained" [9]!', '"It rained"!', ()),
        ("It rained [9]\nIt snowed [1]", "It rained\nIt snowed [1]", (1,)),
        ("It rained [100].", "It rained.", ()),
        ("It rained [8 [9], 7].", "It rained.", ()),
        ("It rained [1 [9], 2].", "It rained [1, 2].", (1, 2)),
        ("It [7[8]] rained [1].", "It [7[8]] rained [1].", (1,)),
    ],
)
def test_marks_of_unknown_sources_go(text: str, left: str, used: tuple[int, ...]) -> None:
    found = check_marks(text, sources(3))
    assert (found.text, found.used) == (left, used)


@pytest.mark.parametrize(
    "text",
    [
        "[7] first\n[8] second",
        "  [7] indented",
        "`list[7]` is code [1]",
        "```\nx [7]\n``` and [1]",
        "open code ```x [7]",
        "call f([7]) or x = [7, 8] or [7] + [8] = 15",
        "a link [7](https://e.org) and [8]: https://e.org",
        "items[7].name and items[7](x) and items[7]=3",
        "You rolled [7]. The 2d6 gave [5] [9]!",
        "[0] and [01] and [1000] and [x] and [ 7 ]",
        "x_[7] stays",
    ],
)
def test_what_is_no_citation_stays(text: str) -> None:
    assert check_marks(text, sources(3)).text == text


def test_a_list_or_code_uses_no_source() -> None:
    assert check_marks("[1] a list\n`x[2]`, f([3])", sources(3)).used == ()


def test_without_sources_nothing_is_a_citation() -> None:
    assert check_marks("It rained [1] [2].", Citations()) == check_marks("It rained [1] [2].", sources(0))
    assert check_marks("It rained [1] [2].", Citations()).text == "It rained [1] [2]."


WORDS = ("word", "rolled", "[1]", "[2]", "[9]", "[1, 9]", "[8-9]", "[[9]1]", "[1 [9]]", "0", "7", "9", "```", "  ")
PIECES = st.sampled_from([*WORDS, *"[]() .,`=+_:-\n\u3010\u3011\u2020"])
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text()


@given(TEXTS, st.integers(0, 4))
def test_checking_twice_is_checking_once(text: str, count: int) -> None:
    citations = sources(count)
    once = check_marks(text, citations)
    assert check_marks(once.text, citations) == once
    assert all(1 <= number <= count for number in once.used)
    assert len(set(once.used)) == len(once.used)
    assert len(once.text) <= len(text)


@given(TEXTS)
def test_no_words_are_lost(text: str) -> None:
    def words(of: str) -> list[str]:
        return re.findall(r"[a-z]+", of)

    plain = re.sub("\u3010[^\u3010\u3011\n]*\u3011", "", text)
    assert words(re.sub("\u3010[^\u3010\u3011\n]*\u3011", "", check_marks(plain, sources(2)).text)) == words(plain)


@given(st.lists(st.sampled_from(["It rained", "the sun shone", "caf\u00e9"]), min_size=1), st.integers(4, 999))
def test_every_unknown_mark_behind_words_goes(said: list[str], unknown: int) -> None:
    text = " ".join(f"{words} [{unknown}]." for words in said)
    found = check_marks(text, sources(3))
    assert "[" not in found.text
    assert found.used == ()


@given(st.lists(st.integers(1, 3), min_size=1))
def test_known_marks_are_left_as_they_are(numbers: list[int]) -> None:
    text = "".join(f"Fact [{number}]. " for number in numbers)
    found = check_marks(text, sources(3))
    assert (found.text, found.used) == (text, tuple(dict.fromkeys(numbers)))


@pytest.mark.parametrize(
    "text",
    [
        "a" + " [9" * 3000 + "]" * 3000,
        "\u30109" * 5000,
        "`" * 9001,
        "word [9] " * 3000,
        "word [9]" + " [9]" * 5000,
        "x" + "[8 " * 3000 + "[9]" + ", 8]" * 3000,
        "[1, " * 5000,
        "a" + " " * 20_000 + "[9]",
        "a" + " \t" * 10_000,
        "```" * 5000,
    ],
)
def test_hostile_text_takes_little_time(text: str) -> None:
    began = process_time()
    check_marks(text, sources(1))
    assert process_time() - began < 1.0


def test_the_footer_names_each_source_in_plain_text() -> None:
    citations = sources(2)
    assert footer(citations.of((2, 1))) == "Sources:\n[2] Title 2 (https://e2.org/)\n[1] Title 1 (https://e1.org/)"
    assert footer(()) == ""


def test_a_title_cannot_look_like_another_source() -> None:
    shown = footer([NumberedSource(1, "https://e.org/", "x\n[2] Bank (https://evil.org)\x1b[31m")])
    assert shown == "Sources:\n[1] x (2) Bank (https://evil.org) (https://e.org/)"


def test_a_long_footer_and_a_long_url_are_cut() -> None:
    many = [NumberedSource(n, f"https://e{n}.org/" + "x" * 500, "y" * 500) for n in range(1, MAX_SHOWN + 4)]
    lines = footer(many).split("\n")
    assert len(lines) == MAX_SHOWN + 2
    assert lines[-1] == "and 3 more"
    assert lines[1].endswith("(e1.org)")
    assert len(lines[1]) < 120
    assert footer([NumberedSource(1, "https://e.org/")]) == "Sources:\n[1] https://e.org/"


def test_a_world_with_links_shows_them_its_own_way() -> None:
    assert footer(sources(1).known, lambda one: f"<a {one.url}>{one.number}</a>").endswith("<a https://e1.org/>1</a>")
