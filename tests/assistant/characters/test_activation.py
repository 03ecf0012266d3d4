"""Which lore a line brings up."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.characters import Lorebook, LoreEntry, LoreIndex, LoreScanner


def scanner(*entries: LoreEntry, recursive: bool = False, budget: int | None = None, depth: int = 4) -> LoreScanner:
    return LoreScanner(LoreIndex(Lorebook(entries, depth, budget, recursive)), estimate=len)


def titles(book: LoreScanner, *lines: str, already: tuple[str, ...] = ()) -> list[str]:
    return [entry.title for entry in book.activate(lines, already).entries]


MILL = LoreEntry("Mill", "The mill is haunted.", ("mill", "old wheel"))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("where is the MILL?", True),
        ("the mill's door", True),
        ("an old\nwheel, I think", True),
        ("old, rusty wheel", False),
        ("millers and windmill", False),
        ("", False),
    ],
)
def test_keys_are_whole_words_and_phrases_whatever_their_case(line: str, found: bool) -> None:
    assert bool(titles(scanner(MILL), line)) is found


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("水車", "古い水車小屋"),
        ("Straße", "die STRASSE hinab"),
        ("école", "l'e\u0301cole"),
        ("мельница", "где Мельница"),
        (":-)", "x :-)"),
    ],
)
def test_keys_of_other_scripts(key: str, line: str) -> None:
    assert titles(scanner(LoreEntry("One", "x", (key,))), line) == ["One"]


def test_why_is_the_key_that_matched() -> None:
    found = scanner(MILL).activate(["the old wheel turns"])
    assert found.why == {MILL.id: "old wheel"}


def test_only_the_last_lines_are_searched_and_the_scene_always() -> None:
    book = scanner(MILL, depth=2)
    assert not titles(book, "the mill", "a", "b")
    assert titles(book, "a", "the mill", "b")
    assert book.activate(["a", "b", "c"], scene="[You are in the mill.]").entries == (MILL,)


def test_case_counts_where_the_entry_says_so() -> None:
    book = scanner(LoreEntry("Iron", "x", ("IT",), case_sensitive=True))
    assert not titles(book, "it is here")
    assert titles(book, "the IT department")


@pytest.mark.parametrize(
    ("logic", "line", "found"),
    [
        ("any", "mill ghost", True),
        ("any", "mill", False),
        ("all", "mill ghost", False),
        ("all", "mill ghost night", True),
        ("not_any", "mill ghost", False),
        ("not_any", "mill", True),
        ("not_all", "mill ghost", True),
        ("not_all", "mill ghost night", False),
    ],
)
def test_further_keys(logic: str, line: str, found: bool) -> None:
    entry = LoreEntry("One", "x", ("mill",), ("ghost", "night"), logic)
    assert bool(titles(scanner(entry), line)) is found


A = LoreEntry("A", "it leads to bravo", ("alpha",))
B = LoreEntry("B", "it leads to charlie", ("bravo",))
C = LoreEntry("C", "it leads to delta", ("charlie",))
D = LoreEntry("D", "the end", ("delta",))


def test_entries_reach_others_at_most_twice_and_only_where_the_book_says_so() -> None:
    assert titles(scanner(A, B, C, D, budget=2000, recursive=True), "alpha") == ["A", "B", "C"]
    assert titles(scanner(A, B, C, D, budget=2000), "alpha") == ["A"]


def test_an_entry_may_not_be_reached_or_not_reach() -> None:
    hidden = LoreEntry("B", "it leads to charlie", ("bravo",), reached=False)
    mute = LoreEntry("A", "it leads to bravo", ("alpha",), reaches=False)
    assert titles(scanner(A, hidden, C, budget=2000, recursive=True), "alpha") == ["A"]
    assert titles(scanner(mute, B, budget=2000, recursive=True), "alpha") == ["A"]
    assert titles(scanner(A, hidden, budget=2000, recursive=True), "alpha bravo") == ["A", "B"]


def test_the_budget_drops_what_is_least_important() -> None:
    low = LoreEntry("Low", "x" * 40, ("go",), priority=1, order=3)
    high = LoreEntry("High", "x" * 40, ("go",), priority=9, order=2)
    always = LoreEntry("Always", "x" * 40, constant=True, priority=0, order=9)
    found = scanner(low, high, always, budget=100).activate(["go"])
    assert [entry.title for entry in found.entries] == ["High", "Always"]
    assert [entry.title for entry in found.left_out] == ["Low"]
    assert found.tokens == 80


def test_without_priorities_the_order_decides_and_orders_what_is_shown() -> None:
    entries = [LoreEntry(f"E{number}", "x" * 40, ("go",), order=number) for number in (3, 1, 2)]
    assert titles(scanner(*entries, budget=1000), "go") == ["E1", "E2", "E3"]
    assert titles(scanner(*entries, budget=90), "go") == ["E2", "E3"]


def test_what_is_still_in_the_stream_is_not_shown_again() -> None:
    assert not titles(scanner(MILL), "the mill", already=(MILL.id,))


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ([f"old town gate {number}" for number in range(50_000)], "old town " * 500),
        (["的" * (1 + number % 100) + chr(0x4E00 + number // 100) for number in range(50_000)], "的" * 1000),
        (["的" * number + end for number in range(1, 120) for end in ("", "!")], "的" * 1000),
        (["a " * number + "b" for number in range(1, 60)], "a " * 500),
    ],
)
def test_a_line_costs_its_length_whatever_the_keys_have_in_common(keys: list[str], line: str) -> None:
    entries = tuple(LoreEntry(f"E{at}", "x", tuple(keys[at : at + 50])) for at in range(0, len(keys), 50))
    index = LoreIndex(Lorebook(entries))
    with steps_of("key_search.py") as steps:
        matched = list(index.keys_in(line))
    assert len(matched) == len(set(matched))
    assert len(line) / 4 < steps[0] < 20 * len(line)


@contextmanager
def steps_of(file: str) -> Iterator[list[int]]:
    """Count the lines of code that run in this file, which no busy machine changes."""
    steps = [0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(file):
            return None
        steps[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)


@given(st.lists(st.text("ab的得 ", min_size=1, max_size=5), max_size=12), st.text("ab的得 .", max_size=30))
def test_the_keys_in_a_line_are_those_that_stand_in_it(keys: list[str], line: str) -> None:
    index = LoreIndex(Lorebook((LoreEntry("E", "x", tuple(keys)),)))
    words = f" {' '.join(line.replace('.', ' ').split())} "
    expected = set()
    for key in keys:
        is_unspaced = "的" in key or "得" in key
        if key.strip() and (key.strip() in line if is_unspaced else f" {' '.join(key.split())} " in words):
            expected.add(key.strip() if is_unspaced else " ".join(key.split()))
    assert {" ".join(key.words) for key in index.keys_in(line)} == expected


def test_a_budget_is_a_share_of_the_window() -> None:
    book = Lorebook((MILL,))
    assert LoreScanner(LoreIndex(book), window=2048).budget == 256
    assert LoreScanner(LoreIndex(book), window=100_000).budget == 600
    assert LoreScanner(LoreIndex(Lorebook((MILL,), token_budget=10**6)), window=8192).budget == 2048


def test_what_is_always_shown_never_changes() -> None:
    book = scanner(LoreEntry("B", "b", constant=True, order=2), MILL, LoreEntry("A", "a", constant=True, order=1))
    assert {"".join(entry.title for entry in book.activate([]).entries) for _ in range(1000)} == {"AB"}
    found = book.activate(["nothing"])
    assert [entry.title for entry in found.entries] == ["A", "B"]
    assert set(found.why.values()) == {"always"}


def test_additional_and_excluded_keys() -> None:
    book = scanner(LoreEntry("War", "x", ("fort",), additional=("war", "siege"), excluded=("peace",)))
    assert titles(book, "the fort in the siege") == ["War"]
    assert not titles(book, "the fort")
    assert not titles(book, "the fort, the war and the peace")


def test_what_is_always_shown_has_its_conditions() -> None:
    book = scanner(LoreEntry("Always", "x", constant=True, excluded=("peace",)))
    assert titles(book, "anything") == ["Always"]
    assert not titles(book, "peace")


def test_lore_waits_until_so_many_lines_were_said() -> None:
    book = scanner(LoreEntry("Late", "x", ("fort",), after=3))
    assert book.waits_for_lines
    assert [len(book.activate(["the fort"], spoken=spoken).entries) for spoken in range(5)] == [0, 0, 0, 1, 1]


def test_a_probability_is_drawn_once_for_each_line() -> None:
    entries = tuple(
        LoreEntry(f"E{number}", f"other {number}", ("fort", "other"), probability=30) for number in range(2000)
    )
    book = Lorebook(entries, token_budget=10**6, recursive=True)
    drawn = LoreScanner(LoreIndex(book), window=10**9, random=Random(4))  # noqa: S311  (chance of a game)
    counts = [len(drawn.activate(["the fort"]).entries) for _ in range(3)]
    assert all(500 < count < 700 for count in counts)
    assert len(set(counts)) > 1
    assert len(LoreScanner(LoreIndex(book), window=10**9).activate(["the fort"]).entries) == 2000
    never = scanner(LoreEntry("Never", "x", ("fort",), probability=0))
    never._random = Random(1)  # noqa: S311  (chance of a game)
    assert not titles(never, "the fort")


@pytest.mark.parametrize(
    ("line", "exact", "found"),
    [
        ("forts", False, True),
        ("comFORTable", False, True),
        ("comFORTable", True, False),
        ("effort", True, True),
        ("port", False, False),
    ],
)
def test_parts_of_words_where_an_entry_says_so(line: str, exact: bool, found: bool) -> None:
    book = scanner(LoreEntry("Part", "x", ("fort",), whole_words=False, case_sensitive=exact))
    assert bool(titles(book, f"a {line} there")) is found
