"""What lasts of a life: written beside its sleep, without the forgotten, and gone on with after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.events.events import Left
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.tables import memories
from mud_assistant.assistant.journal.tables.sleep_state import load_life, load_sleep, save_life, save_sleep
from mud_assistant.assistant.life.life_state import Followed, LifeState, Pair, StoredLife, keep_following
from mud_assistant.assistant.memory.sleep.state import SleepRecord
from mud_assistant.assistant.memory.sleep.stored import StoredSleep
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Person, Principal
from mud_assistant.tools.context import Following
from tests.assistant.journal.keeping import NOON, Place, noon, opened, started
from tests.assistant.living import ANN, reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BEN = Principal("player:2", "Ben")
WALK = Followed(ANN.id, ANN.name, NOON + 600, BEN)
FULL = LifeState(WALK, (ANN.id, BEN.id), {"assistant:2": Pair(6, NOON + 1800)})


def life_in(journal: StoredJournal) -> StoredLife:
    return StoredLife(journal.lease, noon)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    url: Place = tmp_path / "j" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return url


async def test_it_lasts_and_stands_beside_the_sleep_without_harming_it(place: Place) -> None:
    slept = SleepRecord(last_night=NOON, calls=2)
    async with started(place, reactor) as journal:
        assert await life_in(journal).load() == LifeState()
        await StoredSleep(journal.lease).save(slept)
        life = life_in(journal)
        assert await life.change(lambda _: FULL) == life.state == FULL
    async with started(place, reactor) as journal:
        assert await life_in(journal).load() == FULL
        assert await StoredSleep(journal.lease).load() == slept
        await StoredSleep(journal.lease).save(replace(slept, calls=3))
        await life_in(journal).change(lambda state: replace(state, quiet_to=(BEN.id,)))
        await StoredSleep(journal.lease).enqueue([("a", "b")])
        assert await life_in(journal).load() == replace(FULL, quiet_to=(BEN.id,))
        assert await StoredSleep(journal.lease).load() == replace(slept, calls=3)


async def test_what_cannot_be_read_counts_as_never_kept_and_what_is_newer_stays(tmp_path: Path) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        kept = {"mode": "dreaming", "pairs": 6, "following": 3, "quiet_to": [ANN.id], "mood": "glad"}
        await journal.lease.write(lambda db: save_life(db, "sage", kept))
        life = life_in(journal)
        assert await life.load() == LifeState(quiet_to=(ANN.id,))
        await life.change(lambda state: replace(state, quiet_to=(BEN.id,)))
        there = await journal.lease.read(lambda db: load_life(db, "sage"))
        assert (there["mood"], there["quiet_to"], there["pairs"], there["mode"]) == ("glad", [BEN.id], {}, "dreaming")
        await journal.lease.write(lambda db: save_sleep(db, "sage", [1]))
        assert await life.load() == LifeState()


async def test_what_an_older_program_kept_beside_it_is_passed_over(tmp_path: Path) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        kept = {"acted_at": NOON, "pause": 60.0, "quiet_to": [ANN.id], "pairs": {}, "entry": "3 06:00"}
        await journal.lease.write(lambda db: save_life(db, "sage", kept))
        assert await life_in(journal).load() == LifeState(quiet_to=(ANN.id,))


@pytest.mark.parametrize("who", [ANN, BEN])
async def test_who_is_forgotten_is_in_it_no_more(place: Place, who: Principal) -> None:
    async with started(place, reactor) as journal:
        await life_in(journal).change(lambda _: FULL)
        await journal.forget_player(who.id)
        left = tuple(each for each in FULL.quiet_to if each != who.id)
        assert await life_in(journal).load() == replace(FULL, following=None, quiet_to=left)
        await journal.forget_player("assistant:2")
        assert (await life_in(journal).load()).pairs == {}


async def test_a_cleared_mind_goes_on_with_its_life(tmp_path: Path) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        await StoredSleep(journal.lease).save(SleepRecord(calls=2))
        await life_in(journal).change(lambda _: FULL)
        await journal.clear_mind(memories=True)
        assert await life_in(journal).load() == FULL
        assert await StoredSleep(journal.lease).load() == SleepRecord()
        await journal.lease.write(lambda db: memories.clear(db, "tom"))
        assert await journal.lease.read(lambda db: load_sleep(db, "tom")) == {}


@pytest.mark.parametrize(("passed", "left"), [(599.0, 1.0), (600.0, 0.0), (-5000.0, 1800.0)])
async def test_it_is_followed_for_what_is_left_of_the_time(tmp_path: Path, passed: float, left: float) -> None:
    """At most for the minutes that the owner allows, also when the clock of the machine was set back."""
    async with started(tmp_path / "j", reactor) as journal:
        stored = StoredLife(journal.lease, lambda: NOON + passed)
        await stored.change(lambda _: FULL)
        following, launcher = Following(Clock().seconds, 30.0), Launcher()
        keep_following(following, stored, launcher)
        assert following.seconds_left == left
        assert following.leads(ANN.id) == bool(left)
        assert following.asker == (BEN if left else None)
        switched_off = Following(Clock().seconds, 0.0)
        keep_following(switched_off, stored, launcher)
        assert switched_off.leader is None
        assert len(launcher) == 0


async def test_every_beginning_and_every_end_is_written_down(tmp_path: Path) -> None:
    clock, launcher = Clock(), Launcher()
    async with started(tmp_path / "j", reactor) as journal:
        stored, following = life_in(journal), Following(clock.seconds, 30.0)
        keep_following(following, stored, launcher)
        following.begin(Person("Ann", id=ANN.id), BEN)
        assert (await life_in(journal).load()).following == Followed(ANN.id, "Ann", NOON + 1800, BEN)
        following.forget("somebody else")
        clock.advance(1800.0)
        assert following.leader is None
        assert (await life_in(journal).load()).following is None
        following.begin(Person("Ann", id=ANN.id), None)
        following.forget(ANN.id)
        assert (await life_in(journal).load()).following is None
        await launcher.stop()


async def test_one_that_cannot_be_written_down_is_followed_all_the_same(tmp_path: Path) -> None:
    launcher = Launcher()
    async with opened(tmp_path / "j", reactor) as store:
        old, new = StoredJournal(store, "sage"), StoredJournal(store, "sage")
        await old.start()
        following = Following(Clock().seconds, 30.0)
        keep_following(following, life_in(old), launcher)
        await new.start()
        following.begin(Person("Ann", id=ANN.id), None)
        assert await life_in(new).load() == LifeState()
        assert following.leads(ANN.id)
        await launcher.stop()


def follows(request: RecordedRequest) -> Step:
    """Follows Ann when it is asked to."""
    if request.messages[-1]["role"] == "tool":
        return Reply(calls=(Call("noop"),))
    return Reply(calls=(Call("follow", {"person": "Ann"}),))


async def test_after_a_restart_of_the_service_it_goes_on_after_who_it_followed(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, follows), reactor) as url:
        model: dict[str, Any] = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1}
        async with village(tmp_path) as there:
            runner = there.start({"model": model})
            there.says(runner, "Sage, please follow me.")
            await runner.settled()
        async with village(tmp_path) as there:
            runner = there.start({"model": model})
            await runner.settled()
            start, way = there.home.room, there.home.room.exits[0].direction
            runner.hear(lambda id_, at: Left(id=id_, at=at, who=ANN, direction=way))
            await runner.settled()
            assert there.home.room is not start
            assert runner.assistant is not None
            assert not runner.assistant.context.tools.following.leads(ANN.id)  # she is not there
