import pytest

from mud_assistant.assistant.worlds.evennia.body.identity import living
from mud_assistant.assistant.worlds.evennia.characters import AI_LINE
from tests.evennia.village import Village

pytestmark = pytest.mark.usefixtures("db")


def test_whoever_looks_sees_that_it_is_an_ai(village: Village) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    sage.db.desc = "An old man."
    anna.raw()
    anna.does("look Sage")
    (shown,) = anna.heard()
    assert shown.startswith("Sage")
    assert "An old man." in shown
    assert AI_LINE in shown


def test_who_looks_round_sees_which_characters_are_an_ai(village: Village) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    village.player("Ben")
    anna.raw()
    anna.does("look")
    (shown,) = anna.heard()
    assert "Sage (AI)" in shown
    assert "Ben (AI)" not in shown
    sage.at_say("Hello.")
    assert anna.heard() == ['Sage says, "Hello."']
    assert sage.get_display_name(anna.character) == "Sage"


@pytest.mark.parametrize("superuser", [False, True])
def test_nobody_can_play_it(village: Village, superuser: bool) -> None:
    anna, sage = village.player("Anna", "Developer", superuser=superuser), village.assistant()
    anna.raw()
    anna.does("ic Sage")
    assert any(word in line for line in anna.heard() for word in ("is an AI character", "not a valid character"))
    assert sage.account is None
    assert sage.sessions.count() == 0


@pytest.mark.parametrize("stored", ["Builder", "developers", "Admin"])
def test_a_stored_step_of_the_ladder_gives_it_nothing(village: Village, stored: str) -> None:
    sage = village.assistant()
    sage.permissions.add(stored)
    sage.permissions.add("wizards guild")
    assert sage.permissions.all() == ["wizards guild", "player"]
    assert not sage.check_permstring("Helper")
    assert not sage.locks.check_lockstring(sage, "x:perm(Helper) or pperm(Helper) or superuser()")
    assert sage.locks.check_lockstring(sage, "x:perm(Player) and perm(wizards guild)")
    assert sage.is_superuser is False


def test_more_than_a_player_only_while_raised(village: Village) -> None:
    sage = village.assistant()
    with sage.raised_to("Builder"):
        assert sage.check_permstring("Builder")
        assert not sage.locks.check_lockstring(sage, "x:perm(Admin)")
        with sage.raised_to("Guest"):
            assert not sage.check_permstring("Player")
    assert not sage.check_permstring("Helper")


def test_a_failure_lowers_it_again(village: Village) -> None:
    sage = village.assistant()
    with pytest.raises(OSError, match="broken"), sage.raised_to("Developer"):
        raise OSError("broken")
    assert not sage.check_permstring("Helper")


def test_without_an_assistant_it_is_deaf_and_unharmed(village: Village) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    anna.does("say Hello")
    assert sage.ndb.hearing is None
    assert living() == ()


def test_attaching_again_replaces_and_detaching_ends(village: Village) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    first, first_clock = village.hearing(sage)
    second, second_clock = village.hearing(sage)
    assert living() == (sage,)
    anna.does("say Hello")
    for clock in (first_clock, second_clock):
        clock.advance(0)
    assert (len(first.take()), len(second.take())) == (0, 1)
    sage.detach()
    sage.detach()
    assert living() == ()


def test_a_deleted_character_is_nobodys(village: Village) -> None:
    sage = village.assistant()
    village.hearing(sage)
    assert sage.delete()
    assert living() == ()


def test_it_keeps_nothing_in_attributes(village: Village) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    before = {attribute.key for attribute in sage.attributes.all()}
    _, clock = village.hearing(sage)
    anna.does("say Hello")
    clock.advance(0)
    sage.execute_cmd("look")
    assert {attribute.key for attribute in sage.attributes.all()} == before
    sage.detach()
