import evennia
import pytest

from tests.evennia.village import Village

pytestmark = pytest.mark.usefixtures("db")


async def test_people_hear_each_other() -> None:
    village = Village()
    anna, ben = village.player("Anna"), village.player("Ben")
    anna.character.execute_cmd("say Hello")
    assert ben.heard() == ['Anna says, "Hello"']


async def test_every_test_starts_with_an_empty_game() -> None:
    village = Village()
    assert [thing.key for thing in village.hall.contents] == ["north"]
    assert len(evennia.SESSION_HANDLER) == 0
