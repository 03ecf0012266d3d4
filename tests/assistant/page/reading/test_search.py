"""Runs are found by every filter, newest first, page by page, and a search looks at a bounded number of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.events.events import Whispered
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, Limit, LimitReached, NothingToDo
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.files import connect
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.reading import search as searching
from mud_assistant.assistant.page.reading.principals import find_players, player_facts
from mud_assistant.assistant.page.reading.search import search_runs
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery
from mud_assistant.llm import Usage
from mud_assistant.tools import Principal
from tests.assistant.surfaces.replay.recording import (
    ANSWERED,
    BEGUN,
    NOON,
    NOT_DONE,
    answer,
    call,
    looks,
    record,
    said,
    says,
    spoke,
    writing,
)

BEN = Principal("player:8", "Ben Zoë")
QUOTED = 'Sage, read "The \\ MAP"\tof Zoë.'


async def eight_runs(place: JournalPlace) -> JournalPlace:
    """Make a journal of seven runs of Sage and one of Mira."""
    async with writing(place, "assistant:1") as sage:
        await record(sage, [said(1)], [says("Hello there.")], ANSWERED)
        await record(sage, [said(2, QUOTED, BEN)], [looks(), says("It is torn.")], ANSWERED)
        await record(sage, [said(3, "Go!")], [(answer(call("move", direction="up")), [NOT_DONE])], NothingToDo())
        await record(sage, [said(4, "Dig!", BEN)], [(answer(call("dig")), [BEGUN])], LimitReached(Limit.STEPS))
        await record(sage, [said(5)], [], Failed("the model fell over"))
        await record(sage, [said(6)], [], Cancelled())
        whisper = Whispered(id="event-7", at=2.0, who=BEN, text="A secret.")
        await record(sage, [whisper])
    async with writing(place, "assistant:2") as mira:
        await record(mira, [said(8, "Mira?", BEN)], [says("Yes, Ben.")], Answered(("say",)))
    return place


@contextmanager
def opened(place: JournalPlace) -> Iterator[Database]:
    with open_for_reading(place, NOON) as journal:
        yield journal.db


def found(path: JournalPlace, **fields: Any) -> RunPage:
    with opened(path) as db:
        return search_runs(db, RunQuery(**fields))


def ids(page: RunPage) -> list[int]:
    return [int(run.id.removeprefix("run-")) for run in page.runs]


#: Each search, and the numbers of the runs it finds.
SEARCHES: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [8, 7, 6, 5, 4, 3, 2, 1]),
    ({"assistant": "assistant:2"}, [8]),
    ({"assistant": "assistant:9"}, []),
    ({"player": "player:8"}, [8, 7, 4, 2]),
    ({"player": "zOË"}, [8, 7, 4, 2]),
    ({"player": "n"}, [8, 7, 6, 5, 4, 3, 2, 1]),
    ({"player": "ben", "assistant": "assistant:1"}, [7, 4, 2]),
    ({"player": "Carl"}, []),
    ({"tool": "say"}, [8, 2, 1]),
    ({"tool": "move"}, [3]),
    ({"tool": "dig"}, [4]),
    ({"tool": "sa"}, []),
    ({"outcome": "answered"}, [8, 2, 1]),
    ({"outcome": "nothing"}, [3]),
    ({"outcome": "limit"}, [4]),
    ({"outcome": "failed"}, [5]),
    ({"outcome": "cancelled"}, [6]),
    ({"outcome": "open"}, [7]),
    ({"text": "HELLO THERE"}, [1]),
    ({"text": 'read "the \\ map"'}, [2]),
    ({"text": "of zoë."}, [2]),
    ({"text": "secret"}, [7]),
    ({"text": "player:8"}, []),
    ({"text": "the old library"}, []),
    ({"since": NOON + 1}, []),
    ({"until": NOON}, []),
    ({"player": "player:8", "tool": "say", "text": "TORN", "outcome": "answered"}, [2]),
]


async def test_each_filter_narrows_the_list(journal_place: JournalPlace) -> None:
    path = await eight_runs(journal_place)
    for fields, wanted in SEARCHES:
        page = found(path, **fields)
        assert (fields, ids(page), page.next, page.is_partial) == (fields, wanted, "", False)


async def test_a_player_who_spoke_too_often_for_the_index_is_found_run_by_run(
    journal_place: JournalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await eight_runs(journal_place)
    monkeypatch.setattr(searching, "PLAYER_EVENTS", 1)
    assert ids(found(path, player="player:8")) == [8, 7, 4, 2]
    assert ids(found(path, player="player:8", tool="say")) == [8, 2]


async def test_pages_follow_each_other_without_a_gap_or_a_repeat(journal_place: JournalPlace) -> None:
    path = await eight_runs(journal_place)
    for fields in ({}, {"player": "player:8"}, {"text": "s"}, {"tool": "say"}):
        whole, paged, before = ids(found(path, **fields)), list[int](), ""
        while True:
            page = found(path, **fields, limit=2, before=before)
            paged += ids(page)
            before = page.next
            if not before:
                break
        assert paged == whole
        assert not page.is_partial


@pytest.mark.parametrize("bound", ["LOOKED_AT", "WINDOW", "READ_BYTES"])
async def test_a_search_that_reaches_a_bound_says_so_and_goes_on_from_there(
    journal_place: JournalPlace, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    path = await eight_runs(journal_place)
    monkeypatch.setattr(searching, bound, 1)
    monkeypatch.setattr(searching, "CHUNK", 1)
    page, pages, paged = found(path, text="hello there"), 1, list[int]()
    assert (ids(page), page.is_partial) == ([], True)
    while page.next:
        page, pages = found(path, text="hello there", before=page.next), pages + 1
        paged += ids(page)
    assert paged == [1]
    assert not page.is_partial
    assert pages >= 4


async def test_no_search_reads_a_whole_table_of_records_or_uses_an_offset(tmp_path: Path) -> None:
    await eight_runs(tmp_path / "j")
    statements: list[str] = []
    with closing(connect(tmp_path / "j", how="mode=ro")) as db:
        for query in (
            RunQuery(player="player:8"),
            RunQuery(player="en"),
            RunQuery(tool="say"),
            RunQuery(text="s"),
            RunQuery(outcome="failed"),
        ):
            db.set_trace_callback(statements.append)
            search_runs(db, query)
            db.set_trace_callback(None)
        plans = {
            step[3]
            for statement in set(statements)
            if statement.startswith("SELECT")
            for step in db.execute(f"EXPLAIN QUERY PLAN {statement}")
        }
    tables = ("events", "run_events", "responses", "intents", "results", "memories", "stream")
    whole = [plan for plan in plans if plan.startswith("SCAN") and plan.split()[1] in tables and "INDEX" not in plan]
    assert not whole
    assert len(plans) > 5
    assert not any("OFFSET" in statement and "OFFSET 200" not in statement for statement in statements)


async def test_a_run_is_summed_up_with_who_asked_and_what_was_said_and_used(journal_place: JournalPlace) -> None:
    path = await eight_runs(journal_place)
    run = found(path, player="player:8", text="torn").runs[0]
    assert (run.id, run.assistant, run.name) == ("run-2", "assistant:1", "assistant:1")
    assert (run.player, run.player_id, run.heard, run.said) == ("Ben Zoë", "player:8", QUOTED, "It is torn.")
    assert (run.tools, run.steps, run.models) == (("look", "say"), 2, ("ollama/qwen3:4b",))
    assert (run.used.calls, run.used.tokens, run.outcome) == (2, 210, "answered")
    assert run.sentence == "answered with say"
    assert (run.opened_at, run.closed_at) == (NOON, NOON)


async def test_a_long_answer_is_cut_in_the_list_and_money_is_added_up(journal_place: JournalPlace) -> None:
    speech = call("say", text="A" * 5000)
    async with writing(journal_place) as journal:
        await record(journal, [said(1)], [(answer(speech, usage=Usage(1, 1, cost=0.25)), [spoke(speech)])], ANSWERED)
    [run] = found(journal_place).runs
    assert run.said.endswith("A… (4,500 characters left out)")
    assert run.used.money == 0.25


async def test_what_cannot_be_searched_for_is_refused(journal_place: JournalPlace) -> None:
    path = await eight_runs(journal_place)
    with pytest.raises(InvalidInput, match="run-12"):
        found(path, before="x")
    with pytest.raises(InvalidInput, match="answered"):
        found(path, outcome="sad")


async def test_players_are_found_with_each_assistant_that_heard_them(journal_place: JournalPlace) -> None:
    path = await eight_runs(journal_place)
    with opened(path) as db:
        both = frozenset({("assistant:1", "player:8"), ("assistant:2", "player:8")})
        assert find_players(db, "player:8").pairs == find_players(db, "BEN").pairs == both
        assert find_players(db, "ben", "assistant:2").pairs == {("assistant:2", "player:8")}
        facts = player_facts(db, "player:8")
        assert (facts.name, facts.runs, facts.memories) == ("Ben Zoë", 4, 0)
        assert player_facts(db, "player:99").runs == 0
