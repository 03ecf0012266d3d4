import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.trust import TOP, ContextTrust, Kind, Label, Principal, Source, label_of


def somebody(kind: Kind, permission: int = 3) -> Principal:
    return Principal("x:1", "X", kind, permission)


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        (Kind.OPERATOR, Label(Source.OPERATOR, TOP, "x:1")),
        (Kind.PLAYER, Label(Source.PLAYER, 3, "x:1")),
        (Kind.WORLD, Label(Source.WORLD, 1, "x:1")),
        (Kind.ASSISTANT, Label(Source.ASSISTANT, 0, "x:1")),
    ],
)
def test_a_label_follows_from_who_wrote_the_text(kind: Kind, label: Label) -> None:
    assert label_of(somebody(kind)) == label


def test_the_owner_sets_the_level_of_the_games_texts() -> None:
    assert label_of(somebody(Kind.WORLD), 4).authority == 4
    assert label_of(somebody(Kind.PLAYER), 4).authority == 3


@given(st.sampled_from(Kind), st.integers(-9, 9), st.integers(-9, 9))
def test_no_label_is_off_the_ladder(kind: Kind, permission: int, world_text: int) -> None:
    assert 0 <= label_of(somebody(kind, permission), world_text).authority <= TOP


@given(st.lists(st.integers(0, TOP)))
def test_what_is_in_view_only_ever_falls_to_the_lowest_it_read(levels: list[int]) -> None:
    trust = ContextTrust()
    for level in levels:
        before = trust.min_level
        trust.read(Label(Source.PLAYER, level))
        assert trust.min_level <= before
    assert trust.min_level == min(levels, default=TOP)
