"""Each line said to an assistant against a model of what must come of it: who pays, who hears, what is done, and once.

Lines of all kinds of people come in any order, to everybody and in private, while models fail, budgets end, and the
process ends before or after anything it writes.
"""

from __future__ import annotations

import pytest

from mud_assistant.assistant.journal.records import RESPONSE
from mud_assistant.tools import Principal
from tests.assistant.loop.house_of_lines import HANGS, UNWRITTEN, House
from tests.assistant.loop.lived_lines import LATE_AFTER
from tests.assistant.loop.planned_lines import ANN, BEA, CARL, GUS, Plan, Way
from tests.assistant.loop.store_in_memory import Death
from tests.effort import times
from tests.guards import FlushFailures
from tests.histories import run_histories

pytestmark = pytest.mark.usefixtures("reactor_baseline")
RUNS, STEPS_EACH = times(20), 20
#: The boundaries of the longest of these runs, before and after each write, with those of taking in the line.
BOUNDARIES = 40
#: What must come to pass at least once, or the model would be silent about it.
MUST_BE_MET = {
    "level 0",
    "level 1",
    "second prompt",
    "early",
    "late",
    "several",
    "used up",
    "too often",
    "ring",
    "burn",
}


def house_of(*crowd: Principal) -> House:
    """A house in which these people may spend what they like."""
    house = House()
    house.begin(calls=None, own=None, minute=None, crowd=crowd)
    return house


def check(house: House) -> None:
    """Tell whether all came as it must until now."""
    house.all_comes_as_it_must()
    house.what_is_kept_is_for_those_who_may_be_told()


@pytest.mark.parametrize("plan", Plan)
def test_this_plan_wherever_it_is_said_and_whoever_comes_next(plan: Plan, flush_failures: FlushFailures) -> None:
    for third in (CARL, GUS):
        house = house_of(ANN, BEA, third)
        for way in Way:
            for who, other in ((ANN, BEA), (third, ANN)):
                house.says(who, way, plan, other, is_run=True)
                house.says(BEA, Way.ALOUD, Plan.BLABS, ANN, is_run=True)
                house.says(who, way, Plan.WHOLE, other, is_run=True)
                check(house)
        house.teardown()
    flush_failures(RuntimeError)


@pytest.mark.parametrize("plan", Plan)
def test_a_process_that_ends_anywhere_in_this_plan(plan: Plan, flush_failures: FlushFailures) -> None:
    house = house_of(ANN, BEA, CARL)
    for at in range(BOUNDARIES):
        way = (Way.ALOUD, Way.WHISPER)[at // 2 % 2]
        house.says_and_it_dies(house.crowd[at % 3], way, plan, at, 1)
        house.passes(7.0)  # the pause after a failure
        check(house)
        if not house.has_died:  # it came to its end before
            break
    house.teardown()
    flush_failures(RuntimeError, Death)


@pytest.mark.parametrize("fault", HANGS)
def test_what_never_comes_to_its_end(fault: str, flush_failures: FlushFailures) -> None:
    house = house_of(ANN, BEA, CARL)
    for way in Way:
        for plan in (Plan.EARLY, Plan.RINGS, Plan.CONFIDES):
            house.life.faults = {fault}
            house.says(ANN, way, plan, BEA, is_run=True)
            house.says_and_it_is_stopped(CARL, way, plan, fault)
            house.says(BEA, Way.ALOUD, Plan.WHOLE, ANN, is_run=True)
            check(house)
    house.teardown()
    flush_failures(RuntimeError, Death)


@pytest.mark.parametrize("fault", UNWRITTEN)
def test_what_the_disk_refuses_leaves_the_run_open(fault: str, flush_failures: FlushFailures) -> None:
    house = house_of(ANN, BEA, CARL)
    for plan in (Plan.EARLY, Plan.WHOLE, Plan.RINGS, Plan.RINGS_AT_ONCE, Plan.CONFIDES, Plan.TEXT):
        for who, way in ((CARL, Way.ALOUD), (ANN, Way.WHISPER)):
            house.life.faults = {fault}
            house.says(who, way, plan, BEA, is_run=True)
            assert not house.life.faults
            house.passes(7.0)  # the pause after a failure
            check(house)
    house.teardown()
    flush_failures(RuntimeError)


@pytest.mark.parametrize("plan", sorted(set(Plan) - {Plan.TEXT}))  # the call of a text is in no answer
def test_each_call_has_its_result_in_the_journal(plan: Plan, flush_failures: FlushFailures) -> None:
    house = house_of(ANN, BEA, CARL)
    for who, way in ((ANN, Way.ALOUD), (CARL, Way.WHISPER)):
        house.says(who, way, plan, BEA, is_run=True)
    tables = house.life.store.tables
    answers = tables.execute("SELECT run, step, payload FROM responses").fetchall()
    calls = {(run, step, at) for run, step, record in answers for at in range(_count_calls(record))}
    assert calls == set(tables.execute("SELECT run, step, idx FROM results"))
    house.teardown()
    flush_failures(RuntimeError)


def _count_calls(record: bytes) -> int:
    response = RESPONSE.find(record)
    assert response is not None
    return len(response.tool_calls)


@pytest.mark.parametrize("seconds", [LATE_AFTER - 1, LATE_AFTER, LATE_AFTER + 1])
def test_a_line_that_waited_is_late_from_a_moment_on(seconds: float) -> None:
    house = house_of(ANN, BEA, CARL)
    for way in Way:
        for plan in (Plan.EARLY, Plan.TEXT, Plan.WHOLE):
            house.says_and_waits(ANN, way, plan, seconds)
            check(house)
    assert bool(house.expected.seen["late"]) == (seconds > LATE_AFTER)
    house.teardown()


def test_of_several_who_asked_at_once_another_pays() -> None:
    house = House()
    house.begin(calls=1, own=None, minute=None, crowd=(ANN, BEA, CARL))
    house.says(ANN, Way.ALOUD, Plan.WHOLE, BEA, is_run=True)
    house.an_older_version_begins_a_run_for_all([(BEA, Plan.EARLY), (ANN, Plan.EARLY)])
    assert "Word2b" in {word for _, _, word in house.expected.words[2]}
    house.an_older_version_begins_a_run_for_all([(BEA, Plan.EARLY), (ANN, Plan.EARLY)])  # nobody has anything left
    check(house)
    house.teardown()


def test_lines_in_any_order(flush_failures: FlushFailures) -> None:
    House.seen.clear()
    run_histories(House, RUNS, STEPS_EACH)
    flush_failures(RuntimeError, Death)
    assert [what for what in sorted({*MUST_BE_MET, "put aside"}) if not House.seen[what]] == []
