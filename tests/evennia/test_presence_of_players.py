"""Who is there and awake, who somebody is now, and the clock, as the game itself tells them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from evennia.utils import gametime
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.tools.testing import now
from mud_assistant.tools.trust import Kind
from tests.evennia.village import Player, Village
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("db")
QUARTER = 900.0


def who(player: Player) -> str:
    return f"character:{player.character.pk}"


def test_a_connection_that_idles_is_nobody_until_something_is_typed() -> None:
    village = Village()
    anna, body = village.player("Anna"), EvenniaBody(village.assistant(), Clock())
    village.assistant("Iris")
    village.figure("Bob")
    assert [one.id for one in body.present(QUARTER)] == [who(anna)]
    anna.session.cmd_last_visible -= QUARTER + 60.0
    (heard,) = [one for one in map(body.who_is, [who(anna)]) if one is not None]
    assert (body.present(QUARTER), body.hears(heard)) == ((), True)
    anna.session.update_session_counters(idle=True)  # what a client sends to stay connected
    assert body.present(QUARTER) == ()
    anna.session.update_session_counters()
    assert [one.id for one in body.present(QUARTER)] == [who(anna)]
    assert body.somebody_plays(QUARTER)
    anna.session.cmd_last_visible -= QUARTER + 60.0
    assert not body.somebody_plays(QUARTER)
    anna.session.update_session_counters()
    anna.logs_out()
    assert (body.present(QUARTER), body.somebody_plays(QUARTER)) == ((), False)


def test_asking_often_queries_nothing() -> None:
    village = Village()
    anna, body = village.player("Anna"), EvenniaBody(village.assistant(), Clock())
    for number in range(5):
        village.thing(f"lamp {number}")
        village.figure(f"Bob {number}")
    heard = body.who_is(who(anna))
    assert heard is not None
    asked: list[CaptureQueriesContext] = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert (len(body.present(QUARTER)), body.hears(heard), body.is_left_alone()) == (1, True, False)
            assert body.time() is not None
        asked.append(queries)
    assert len(asked[-1]) == 0  # what was asked for once is kept


def test_somebody_has_the_permission_of_now_in_the_game_or_not_and_is_nobody_once_deleted() -> None:
    village = Village()
    anna, body = village.player("Anna", "Builder"), EvenniaBody(village.assistant(), Clock())
    account = f"account:{anna.account.pk}"

    def permission(of: str) -> int:
        found = body.who_is(of)
        assert found is not None
        assert (found.id, found.name, found.kind) == (of, "Anna", Kind.PLAYER)
        return found.permission

    assert (permission(who(anna)), permission(account)) == (3, 3)
    anna.account.permissions.clear()
    anna.account.permissions.add("Player")
    assert (permission(who(anna)), permission(account)) == (1, 1)
    anna.logs_out()
    assert (permission(who(anna)), permission(account)) == (0, 1)  # her character has no rank of its own
    known = who(anna)
    anna.character.delete()
    assert body.who_is(known) is None
    assert body.who_is(f"character:{village.hall.pk}") is None
    assert body.who_is(f"thing:{village.hall.pk}") is not None


def test_the_clock_is_the_games_own(monkeypatch: pytest.MonkeyPatch, flush_failures: FlushFailures) -> None:
    village = Village()
    body = EvenniaBody(village.assistant(), Clock())
    monkeypatch.setattr(gametime, "TIMEFACTOR", 12.0)
    early = body.time()
    assert early is not None
    assert early.pace == 12.0

    def broken(*, absolute: bool) -> Any:
        raise OverflowError(absolute)

    monkeypatch.setattr(gametime, "gametime", broken)
    assert body.time() is None
    assert now(body.look()).moment == ""
    assert len(flush_failures(OverflowError)) == 2
