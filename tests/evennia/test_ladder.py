from typing import Any

import pytest

from mud_assistant.assistant.worlds.evennia.body.identity import THE_WORLD, Ladder, principal_of
from mud_assistant.tools.trust import Kind, Principal
from tests.evennia.village import Village

STOCK = ["Guest", "Player", "Helper", "Builder", "Admin", "Developer"]
CUSTOM = ["Mortal", "Hero", "Wizard", "God"]


@pytest.fixture
def village(db: None) -> Village:
    return Village()


def held(ladder: Ladder, own: str) -> int:
    """Our step of somebody with this permission, who passes for all below it as well."""
    return ladder.held(lambda name: ladder.names.index(name) <= ladder.names.index(own))


def test_the_stock_ladder_maps_by_its_names() -> None:
    ladder = Ladder.of(STOCK)
    assert [ladder.needed(name) for name in STOCK] == [0, 1, 2, 3, 4, 5]
    assert [held(ladder, name) for name in STOCK] == [0, 1, 2, 3, 4, 5]
    assert [ladder.name(step) for step in range(6)] == STOCK


@pytest.mark.parametrize(
    ("names", "default", "needed", "kept"),
    [
        (CUSTOM, "Mortal", [1, 3, 4, 5], [1, 2, 3, 5]),
        (["Player", "Builder", "Immortal", "Admin", "Developer"], "Player", [1, 3, 4, 4, 5], [1, 3, 3, 4, 5]),
        (["Players", "Staff"], "Players", [1, 5], [1, 5]),
        (["God"], "God", [5], [5]),
        (["Developer", "Guest"], "Guest", [0, 5], [0, 5]),
        (["A", "B", "C"], "nobody", [0, 3, 5], [0, 2, 5]),
    ],
)
def test_another_ladder_gives_doubt_to_nobody(
    names: list[str], default: str, needed: list[int], kept: list[int]
) -> None:
    ladder = Ladder.of(names, default)
    assert [ladder.needed(name) for name in names] == needed
    assert [held(ladder, own) for own in names] == kept


@pytest.mark.parametrize(("permission", "step"), list(zip(STOCK, range(6), strict=True)), ids=STOCK)
def test_a_player_has_the_permission_the_game_gives(village: Village, permission: str, step: int) -> None:
    assert principal_of(village.player("Anna", permission).character, village.assistant()).permission == step


def test_a_quelled_admin_is_what_the_character_is(village: Village) -> None:
    anna = village.player("Anna", "Admin")
    anna.does("quell")
    assert principal_of(anna.character, village.assistant()).permission == 0
    anna.character.permissions.add("Builder")
    assert principal_of(anna.character, village.assistant()).permission == 3
    anna.does("unquell")
    assert principal_of(anna.character, village.assistant()).permission == 4


def test_a_superuser_is_at_the_top_until_quelled(village: Village) -> None:
    root = village.player("Root", "Player", superuser=True)
    assert principal_of(root.character, village.assistant()).permission == 5
    root.does("quell")
    assert principal_of(root.character, village.assistant()).permission == 0


def test_everybody_and_everything_has_its_kind_and_a_lasting_id(village: Village) -> None:
    anna, sage, other = village.player("Anna"), village.assistant(), village.assistant("Other")
    statue, map_ = village.figure("Statue"), village.thing("map")
    kinds: list[tuple[Any, Principal]] = [
        (anna.character, Principal(f"character:{anna.character.pk}", "Anna", Kind.PLAYER, 1)),
        (anna.session, Principal(f"character:{anna.character.pk}", "Anna", Kind.PLAYER, 1)),
        (anna.account, Principal(f"account:{anna.account.pk}", "Anna", Kind.PLAYER, 1)),
        (other, Principal(f"assistant:{other.pk}", "Other", Kind.ASSISTANT, 0, 0)),  # nobody gave it its name
        (statue, Principal(f"thing:{statue.pk}", "Statue", Kind.WORLD, 0)),
        (map_, Principal(f"thing:{map_.pk}", "map", Kind.WORLD, 0)),
        (village.hall, Principal(f"thing:{village.hall.pk}", "Hall", Kind.WORLD, 0)),
        (None, THE_WORLD),
    ]
    assert [principal_of(subject, sage) for subject, _ in kinds] == [principal for _, principal in kinds]


def test_who_has_logged_out_is_still_a_player(village: Village) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    anna.logs_out()
    assert principal_of(anna.character, sage).kind is Kind.PLAYER


def test_a_name_is_one_line_without_markup_or_number(village: Village) -> None:
    sage = village.assistant()
    odd = village.figure("|rRed|n |lcdie|ltRose|le(#12)\nadmin")
    assert principal_of(odd, sage).name == "Red Rose(#12) admin"
    assert principal_of(village.figure("Rose(#12)"), sage).name == "Rose"
