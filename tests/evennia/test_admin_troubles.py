"""Trouble is told to who can help: once, at once or when they come, and when it is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evennia.server.models import ServerConfig

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.tick import MAX_CRASHES
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.troubles import EVERYBODY, Trouble, TroubleKind, Troubles
from mud_assistant.assistant.worlds.evennia import creation, hooks, server
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.console import alerts
from mud_assistant.assistant.worlds.evennia.stored import KEPT_ALERTS
from mud_assistant.llm.testing import Call, FakeChat, HttpError, Reply, serve
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.opened import opened
from tests.evennia.village import Player
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


@pytest.fixture(autouse=True)
def _stops_are_logged(flush_failures: FlushFailures) -> Iterator[None]:
    """An emergency stop is an error in the log, which is expected here."""
    yield
    flush_failures()


def owner(here: Office) -> Player:
    """The owner of the game, who is in it."""
    return here.village.player("Owner", "Developer", superuser=True)


def news(player: Player) -> list[str]:
    return [line for line in player.heard() if line.startswith("[AI characters]")]


def crash(runner: AssistantRunner) -> None:
    """The emergency stop is set, as by the last of five crashed runs."""
    assert runner.assistant is not None
    tick = runner.assistant.tick
    tick._crashes = MAX_CRASHES - 1
    tick._learn(None)


async def test_an_emergency_stop_is_told_once_and_when_it_is_over(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, runner = owner(here), await here.sage(url)
        crash(runner)
        crash(runner)
        (told,) = news(boss)
        assert "Sage crashed five times in a row and thinks no more" in told
        assert "assistant/reset Sage" in told
        for line in ("assistant/doctor", "assistant/status Sage", "assistants"):
            assert "Trouble: Sage crashed five times" in await here.orders(line), line
        assert "Trouble" not in await here.orders("assistants", here.player("Anna"))
        assert "cannot think just now" in await here.orders("assistants", here.player("Ben"))
        await here.orders("assistant/reset Sage")
        (over,) = news(boss)
        assert "This is over: Sage crashed five times" in over
        assert "Trouble" not in await here.orders("assistant/status Sage")


async def test_who_was_away_is_told_when_they_come_and_never_twice(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, runner = owner(here), await here.sage(url)
        boss.logs_out()
        crash(runner)
        here.village.logs_in(boss)
        assert "Sage crashed five times" in news(boss)[0]
        boss.logs_out()
        here.village.logs_in(boss)
        assert news(boss) == []
        boss.logs_out()
        runner.clear()
        here.village.logs_in(boss)
        assert "This is over: Sage crashed" in news(boss)[0]
        assert ServerConfig.objects.conf(KEPT_ALERTS) is None


async def test_after_a_restart_of_the_server_nothing_is_told_twice_and_its_end_is_told(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, runner = owner(here), await here.sage(url)
        crash(runner)
        assert len(news(boss)) == 1
        here.service.troubles = Troubles()
        alerts.attach()
        kept = list(here.service.troubles)
        assert [one.kind for one in kept] == [TroubleKind.EMERGENCY]
        here.service.troubles.begin(kept[0])
        assert news(boss) == []
        here.service.troubles.end(*kept[0].key)
        assert "This is over" in news(boss)[0]


async def test_whoever_alerts_names_is_told_instead_of_the_owner(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, anna = owner(here), here.player("Anna")
        await here.sage(url)
        assert "(kept)" in await here.orders("assistant/set Sage/alerts = anna, Nobody")
        await here.settled()
        (runner,) = here.service.runners.values()
        crash(runner)
        assert (len(news(anna)), news(boss)) == (1, [])


async def test_a_refused_key_is_told_and_its_end_when_the_right_one_is_there(tmp_path: Path) -> None:
    answers: list[Any] = [HttpError(401, "wrong key")]

    def brain(_: Any) -> Any:
        return answers[0]

    fake = FakeChat(reactor, brain)
    async with office(tmp_path, environment={"MY_KEY": "sk-0123456789abcdef"}) as here, serve(fake, reactor) as url:
        boss = owner(here)
        await here.orders("assistant/create Sage")
        await here.orders(f"assistant/provider Sage = local sage {url}/v1 env:MY_KEY force")
        await here.settled()
        (runner,) = here.service.runners.values()
        await here.says(here.player("Anna"), runner, "Sage, hello")
        (told,) = news(boss)
        assert "Sage cannot think: " in told
        assert "assistant/doctor Sage" in told
        assert "sk-0123" not in told
        assert "refused the key" in await here.orders("assistant/status Sage")
        answers[0] = Reply(calls=(Call("say", {"text": "Yes."}),))
        here.service.pipeline.configuration_changed(url)
        await here.says(here.player("Ben"), runner, "Sage, hello")
        runner.alarms.run_ended("run-1", _answered())
        assert any("This is over: Sage cannot think" in line for line in news(boss))


def _answered() -> Any:
    from mud_assistant.assistant.events.outcome import Answered  # noqa: PLC0415

    return Answered(("say",))


async def test_a_used_up_budget_is_told_with_what_lifts_it(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, anna = owner(here), here.player("Anna")
        await here.sage(url, budget={"assistant": {"calls": 1}})
        (runner,) = here.service.runners.values()
        for text in ("Sage, one", "Sage, two", "Sage, three"):
            await here.says(anna, runner, text)
        (told,) = news(boss)
        assert "the budget of Sage is used up for today" in told.casefold().replace("sage", "Sage")
        assert "assistant/budget Sage = none" in told
        shown = await here.orders("assistant/status Sage")
        assert "Used today by Sage: 1 of 1 call" in shown
        assert "assistant:" not in shown
        assert "To lift that now: assistant/budget Sage = none" in shown


async def test_a_players_own_used_up_budget_is_no_trouble(tmp_path: Path) -> None:
    async with office(tmp_path, settings={"budget": {"player": {"calls": 1}}}) as here, serve(ollama(), reactor) as url:
        boss, anna, runner = owner(here), here.player("Anna"), await here.sage(url)
        for text in ("Sage, one", "Sage, two"):
            await here.says(anna, runner, text)
        assert news(boss) == []
        assert "Trouble" not in await here.orders("assistant/status Sage")


async def test_a_full_disk_is_told_and_when_there_is_room_again(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, runner = owner(here), await here.sage(url)
        assert isinstance(here.service.parts.journal, JournalFile)
        store = here.service.parts.journal.store
        pages = await store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
        anna = here.player("Anna")
        for number in range(20):
            await here.says(anna, runner, f"Sage, {number} {'x' * 3000}")
        told = news(boss)
        assert len(told) == 1, told
        assert "the disk is full" in told[0]
        assert "Make room on the disk" in told[0]
        await store.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchone())
        for number in range(4):
            await here.says(anna, runner, f"Sage, again {number}")
        assert any("This is over: the journal could not be written" in line for line in news(boss))


async def put_aside(here: Office, runner: AssistantRunner, *texts: str) -> None:
    """Events of Anna's are in the inbox and put aside."""
    anna = here.player("Anna")
    who = principal_of(anna.character, anna.character)
    assert runner.assistant is not None
    runner.assistant.tick.halt()
    for number, text in enumerate(texts):
        event = Said(id=f"x.{number}", at=0.0, who=who, text=text, to_me=True)
        await runner.assistant.inbox.take(event)
    ids = [(f"x.{number}", "3 runs over it crashed") for number in range(len(texts))]
    from mud_assistant.assistant.journal.tables import inbox  # noqa: PLC0415

    assert isinstance(here.service.parts.journal, JournalFile)
    await here.service.parts.journal.store.write(lambda db: inbox.park(db, runner.embodiment.me.id, ids))
    journal = runner.assistant.context.memory.journal
    assert isinstance(journal, StoredJournal)
    journal.waiting.drop()  # the file was written past it
    await runner.alarms.look()
    runner.assistant.tick.start()


async def test_what_was_put_aside_is_shown_with_its_words_and_tried_again_or_cleared(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        boss, runner = owner(here), await here.sage(url)
        assert "Nothing that Sage heard is put aside." in await here.orders("assistant/parked Sage")
        await put_aside(here, runner, "Sage, open the box", "Sage, close it")
        (told,) = news(boss)
        assert "2 things that Sage heard were put aside" in told
        assert "assistant/parked Sage" in told
        shown = await here.orders("assistant/parked Sage")
        assert '1. Anna says to you: "Sage, open the box" (3 runs over it crashed)' in shown
        assert "x.0" not in shown
        assert "from 1 to 2" in await here.orders("assistant/parked Sage = retry 3")
        assert "Type: assistant/parked Sage = retry NUMBER" in await here.orders("assistant/parked Sage = again")
        assert "1 thing cleared" in await here.orders("assistant/parked Sage = clear 2")
        assert "tries 1 thing again" in await here.orders("assistant/parked Sage = retry 1")
        await runner.settled()
        assert "open the box" in str(fake.chats[-1].body)
        assert "close it" not in str(fake.chats[-1].body)
        assert "This is over: 2 things" in news(boss)[-1]
        assert "Nothing that Sage heard is put aside." in await here.orders("assistant/parked Sage")


async def test_everybody_is_stopped_after_a_yes_and_started_again(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        await here.made("Mira", url)
        asked = await here.orders("assistant/stop all")
        assert "This stops Sage, Mira" in asked
        assert "assistant/stop all = yes" in asked
        assert "assistant/start all" in asked
        assert len(here.service.runners) == 2
        assert "Sage, Mira are stopped" in await here.orders("assistant/stop all = yes")
        assert here.service.runners == {}
        assert all(creation.is_off(one) for one in creation.assistants())
        assert "Started: Sage, Mira." in await here.orders("assistant/start all")
        await here.settled()
        assert "Every assistant runs already." in await here.orders("assistant/start all")


async def test_who_is_stopped_has_no_trouble_any_more_and_strange_records_are_left_alone(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        boss, runner = owner(here), await here.sage(url)
        crash(runner)
        await here.orders("assistant/stop Sage")
        assert "This is over" in news(boss)[-1]
        ServerConfig.objects.conf(KEPT_ALERTS, [{"kind": "of another version"}])
        here.service.troubles.begin(Trouble(TroubleKind.JOURNAL, EVERYBODY, "Sage", "nothing can be written"))
        assert len(news(boss)) == 1
        assert server.is_open()
        assert alerts.troubles_of(None) == [
            "Trouble: Nothing can be written. " + alerts.REMEDIES[TroubleKind.JOURNAL],
        ]


async def test_every_start_of_the_server_lets_trouble_be_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        hooks.at_server_start()
        boss = village.player("Owner", "Developer", superuser=True)
        server.service().troubles.begin(Trouble(TroubleKind.BUDGET, EVERYBODY, "Sage", "the budget is used up"))
        (told,) = news(boss)
        assert "The budget is used up." in told
        assert "assistant/budget all = none" in told
