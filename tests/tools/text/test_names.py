import pytest

from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.text.lenient import candidates, has_name, pick

THINGS = ["old map", "hearth", "book of herbs", "book of songs", "Mira the baker"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("old map", "old map"),
        ("The Old MAP.", "old map"),
        ("map", "old map"),
        ("the old", "old map"),
        ("hea", "hearth"),
        ("a burning hearth", "hearth"),
        ("herbs", "book of herbs"),
        ("baker", "Mira the baker"),
        ("'mira'", "Mira the baker"),
    ],
)
def test_the_name_that_is_meant(wanted: str, name: str) -> None:
    assert THINGS[pick(wanted, THINGS)] == name


def test_an_exact_name_beats_a_longer_one() -> None:
    assert pick("map", ["map of the sea", "map"]) == 1


def test_an_unknown_name_says_what_is_there() -> None:
    with pytest.raises(ToolFailed, match=r"There is no 'lamp' here\. You see: old map, hearth\."):
        pick("lamp", THINGS[:2])


def test_two_that_fit_are_both_named() -> None:
    with pytest.raises(ToolFailed, match=r"More than one thing here is 'book': book of herbs, book of songs\."):
        pick("book", THINGS)


@pytest.mark.parametrize("wanted", ["", "  ", "?", "the lamp", "\x00"])
def test_nothing_fits(wanted: str) -> None:
    assert candidates(wanted, THINGS) == []
    with pytest.raises(ToolFailed, match="You see: nothing"):
        pick(wanted, [])


def test_an_article_alone_is_a_name_when_there_is_nothing_else() -> None:
    assert candidates("the", ["the the"]) == [0]


def test_what_is_echoed_is_cleaned_and_short() -> None:
    with pytest.raises(ToolFailed) as failed:
        pick("\x1b[2J" + "x" * 500, [])
    assert "\x1b" not in str(failed.value)
    assert len(str(failed.value)) < 120


@pytest.mark.parametrize(
    ("text", "name", "is_there"),
    [
        ("You see Gustave here.", "Gustave", True),
        ("| gustav | 1m |", "Gustave Flaubert", True),
        ("Gust\nave", "Gustave", True),
        ("You pick up a coin.", "Gustave", False),
        ("You are here today.", "Oda", False),
        ("Oda, Venn", "Oda", True),
        ("*Star* shines", "*Star*", True),
        ("nothing", "", False),
    ],
)
def test_a_name_is_found_cut_short_or_broken_over_lines(text: str, name: str, is_there: object) -> None:
    assert has_name(text, name) is is_there
