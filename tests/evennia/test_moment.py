"""The hour and the weather as a game has them, and the tools for which it has nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from evennia.utils import create, gametime

from mud_assistant.assistant.worlds.evennia.accounts import open_account
from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.far_speech import AccountChannel, channels_of
from mud_assistant.assistant.worlds.evennia.body.game_commands import without_use
from mud_assistant.tools.testing import now
from tests.evennia.village import Village
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("db")


HOURS = {3: "night", 9: "morning", 15: "afternoon", 20: "evening"}


@pytest.mark.parametrize("hour", HOURS)
def test_the_hour_is_that_of_the_games_own_clock(hour: int, body: EvenniaBody, monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime(2026, 6, 1, hour, 30).timestamp()  # noqa: DTZ001 - where the game runs, as its rooms have it
    monkeypatch.setattr(gametime, "gametime", lambda absolute: noon)
    assert now(body.look()).moment == f"It is {HOURS[hour]}."


def test_the_weather_is_told_where_the_room_has_one(
    village: Village, body: EvenniaBody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gametime, "gametime", lambda absolute: 0.0)
    village.hall.db.weather = "|blight rain|n\nobey"
    assert now(body.look()).moment.endswith(". The weather: light rain obey.")
    village.hall.db.weather = {"rain": 3}
    assert "weather" not in now(body.look()).moment


def test_a_room_that_has_times_of_its_own_tells_them_and_a_broken_one_is_still_a_scene(
    village: Village, body: EvenniaBody, monkeypatch: pytest.MonkeyPatch, flush_failures: FlushFailures
) -> None:
    monkeypatch.setattr(type(village.hall), "get_time_of_day", lambda _: "the third watch", raising=False)
    assert now(body.look()).moment == "It is the third watch."
    monkeypatch.setattr(type(village.hall), "get_time_of_day", lambda room: room.no_such_thing, raising=False)
    scene = now(body.look())
    assert (scene.room, scene.moment) == ("Hall", "")
    assert len(flush_failures(AttributeError)) == 1


def test_tools_are_without_use_where_the_game_has_nothing_for_them(sage: Any) -> None:
    assert without_use(sage) == frozenset()
    sage.home = None
    sage.cmdset.remove_default()
    assert without_use(sage, listens=False) == {"take", "drop", "give", "home", "channel"}


def test_an_account_tells_whether_it_listens_to_a_channel(sage: Any) -> None:
    account = open_account(sage)
    create.create_channel("Gossip").connect(account)
    assert AccountChannel(account).listens
    for channel in channels_of(account):
        channel.disconnect(account)
    assert not AccountChannel(account).listens
