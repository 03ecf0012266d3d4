"""Which lore a line brings up."""

from __future__ import annotations

import pytest

from assistant.characters import Lorebook, LoreEntry, LoreScanner


def scanner(*entries: LoreEntry, recursive: bool = False, budget: int | None = None, depth: int = 4) -> LoreScanner:
    return LoreScanner(Lorebook(entries, depth, budget, recursive), estimate=len)


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


def test_a_budget_is_a_share_of_the_window() -> None:
    book = Lorebook((MILL,))
    assert LoreScanner(book, window=2048).budget == 256
    assert LoreScanner(book, window=100_000).budget == 600
    assert LoreScanner(Lorebook((MILL,), token_budget=10**6), window=8192).budget == 2048


def test_what_is_always_shown_never_changes() -> None:
    book = scanner(LoreEntry("B", "b", constant=True, order=2), MILL, LoreEntry("A", "a", constant=True, order=1))
    assert {"".join(entry.title for entry in book.constants) for _ in range(1000)} == {"AB"}
    found = book.activate(["nothing"])
    assert [entry.title for entry in found.entries] == ["A", "B"]
    assert set(found.why.values()) == {"always"}


def test_a_scan_costs_the_lines_and_not_the_entries() -> None:
    entries = [LoreEntry(f"E{number}", "x", (f"word{number} tail",)) for number in range(1000)]
    book = scanner(*entries)
    looked: list[str] = []

    class Watching(dict[str, list[object]]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            looked.append(key)
            return super().get(key, default)

    book._by_word = Watching(book._by_word)  # type: ignore[assignment, arg-type]
    book.activate(["some words and word7 tail"])
    assert len(looked) == 5
