"""One run is shown as a tree: heard, recalled, answered, called and judged. Nothing is shown of who was forgotten."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace as changed

from mud_assistant.assistant.events.events import Whispered
from mud_assistant.assistant.events.outcome import Answered, NothingToDo
from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.journal.files import connect
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.journal.records import OUTCOME
from mud_assistant.assistant.page.reading.run_view import JUDGED, STEP_CHARS, read_run
from mud_assistant.assistant.page.reading.search import search_runs
from mud_assistant.assistant.page.values.runs import RunQuery, RunView, StepView
from mud_assistant.llm import Usage, user
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools.policy.decide import PolicyRule
from tests.assistant.journal.tables.written_stream import save_stream
from tests.assistant.living import ANN, living, reactor
from tests.assistant.surfaces.replay.recording import (
    ANNA,
    ANSWERED,
    BEGUN,
    NOON,
    NOT_DONE,
    answer,
    call,
    came_to,
    looks,
    record,
    said,
    says,
    spoke,
    writing,
)


def shown(path: JournalPlace, run: str = "run-1") -> RunView:
    with open_for_reading(path, NOON) as journal:
        view = read_run(journal.db, run, "/games/my journal.sqlite")
    assert view is not None
    return view


def run_text(path: JournalPlace) -> str:
    """Everything of run 1 that is shown, as JSON; empty when there is none."""
    with open_for_reading(path, NOON) as journal:
        view = read_run(journal.db, "run-1", "j")
        listed = search_runs(journal.db, RunQuery())
    return msgspec.json.encode((view, listed)).decode()


async def test_a_run_is_a_tree(journal_place: JournalPlace) -> None:
    path, whisper = journal_place, Whispered(id="event-2", at=2.5, who=ANNA, text="Psst.")
    dig, move = call("dig", deep=True), call("move", problem="no direction")
    async with writing(path, "assistant:1") as journal:
        both = answer(dig, move, text="Let me dig.", usage=Usage(100, 5, cached_tokens=60, cost=0.5))
        await record(journal, [said(1), whisper], [looks(), (both, [BEGUN, NOT_DONE])], ANSWERED)
    view = shown(path)
    assert [(line.kind, line.who, line.text, line.is_private) for line in view.heard] == [
        ("said", "Anna", "Sage, hello?", False),
        ("whispered", "Anna", "Psst.", True),
    ]
    assert (view.heard[0].verdict, view.heard[0].importance, view.heard[0].at) == ("trigger", 10, 1.5)
    first, second = view.steps
    assert (first.number, first.provider, first.model, first.text) == (1, "ollama", "qwen3:4b", "")
    [look] = first.calls
    assert (look.name, look.arguments, look.status, look.seconds) == ("look", "{}", "done", 0.25)
    assert json.loads(look.result) == {"room": "The Old Library"}
    assert (second.text, second.cached_tokens, second.cost, second.finish_reason) == (
        *("Let me dig.", 60, 0.5),
        "tool_calls",
    )
    assert [(one.name, one.status, one.result) for one in second.calls] == [
        ("dig", "unknown", ""),
        ("move", "not done", "no direction"),
    ]
    assert json.loads(second.calls[0].arguments) == {"deep": True}
    assert (view.steps_left_out, view.unreadable, view.summary.id) == (0, 0, "run-1")
    assert view.replay == "mud-assistant replay '/games/my journal.sqlite' --run run-1"


async def test_there_is_no_run_of_another_id(journal_place: JournalPlace) -> None:
    async with writing(journal_place) as journal:
        await record(journal, [said(1)])
    with open_for_reading(journal_place, NOON) as opened:
        for other in ("run-2", "run-", "1x", "run-99999999999999999999999", "run-²"):
            assert read_run(opened.db, other, "j") is None
        assert read_run(opened.db, "run-1", "j") is not None


async def test_an_early_sentence_is_shown_with_the_rest_of_its_answer(journal_place: JournalPlace) -> None:
    begun, whole = call("say", text="Hello."), call("say", text="Hello. How are you?")
    async with writing(journal_place) as journal:
        early = changed(answer(begun), is_beginning=True)
        rest = spoke(call("say", text="How are you?"))
        await record(journal, [said(1)], [(early, [spoke(begun)]), (answer(whole), [rest])], ANSWERED)
    view = shown(journal_place)
    [step] = view.steps
    assert json.loads(step.calls[0].arguments) == {"text": "Hello. How are you?"}
    assert (view.summary.said, view.summary.steps) == ("Hello. How are you?", 1)


async def test_of_many_steps_the_first_are_shown_and_long_texts_are_cut(tmp_path: Path) -> None:
    long = call("look", target="x" * 50_000)
    async with writing(tmp_path / "j") as journal:
        await record(journal, [said(1)], [(answer(long), [came_to(long, "y" * 50_000)])], ANSWERED)
    with closing(sqlite3.connect(tmp_path / "j")) as db, db:
        for table in ("responses", "intents", "results"):
            row = db.execute(f"SELECT * FROM {table}").fetchone()  # noqa: S608
            marks = ", ".join("?" * len(row))
            rows = [(*row[:2], step, *row[3:]) for step in range(2, 1001)]
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
    view = shown(tmp_path / "j")
    assert (len(view.steps), view.steps_left_out, view.summary.steps) == (200, 800, 1000)
    assert all(_chars(step) < STEP_CHARS + 100 for step in view.steps)
    assert view.steps[0].calls[0].result.endswith("characters left out)")


def _chars(step: StepView) -> int:
    return sum(len(one.arguments) + len(one.result) for one in step.calls)


async def test_what_was_recalled_is_shown_as_the_stream_holds_it(journal_place: JournalPlace) -> None:
    recalled = "[You remember:\n- Anna said: I like tea.\n- perhaps: The map is torn.\n]"
    async with writing(journal_place, "assistant:1") as journal:
        await record(journal, [said(1)], [says("Tea?")], ANSWERED)
        await record(journal, [said(2)], [says("Yes.")], ANSWERED)
        heard = [StreamEntry((user(f'Anna says to you: "{number}"'),), 10, (f"event-{number}",)) for number in (1, 2)]
        memory = StreamEntry((user(recalled),), 5, ("recalled:fact:1", "recalled:fact:2"))
        await save_stream(journal.lease, [memory, heard[0], heard[1]])
    assert shown(journal_place).recalled == ("Anna said: I like tea.", "perhaps: The map is torn.")
    assert shown(journal_place, "run-2").recalled == ()


def calls(*given: tuple[str, dict[str, JSON]]) -> Reply:
    return Reply(calls=tuple(Call(name, arguments) for name, arguments in given))


async def test_the_rule_that_judged_each_call_of_a_lived_run_is_shown(journal_place: JournalPlace) -> None:
    script = [
        calls(("look", {}), ("remember", {"text": "Tea."}), ("dance", {}), ("inspect", {"closely": True})),
        calls(("say", {"text": "Hello."})),
    ]
    settings = {"tools": ["say", "look", "inspect"], "max_steps": 4}
    async with writing(journal_place, "assistant:1") as journal, living(script, settings, journal=journal) as life:
        await life.assistant.inbox.take(said(1, "Sage, what is here?", ANN))
        await life.assistant.settled()
    view = shown(journal_place)
    judged = [(one.name, one.rule, one.status) for step in view.steps for one in step.calls]
    assert judged == [
        ("look", "granted", "done"),
        ("remember", "not granted", "refused"),
        ("dance", "format", "format_error"),
        ("inspect", "format", "format_error"),
        ("say", "granted", "done"),
    ]
    assert view.steps[0].calls[1].judged == "The owner did not grant the tool."
    assert set(JUDGED) == set(PolicyRule)
    assert view.summary.outcome == "answered"


async def test_words_of_a_forgotten_player_are_shown_no_more(journal_place: JournalPlace) -> None:
    async with writing(journal_place) as journal:
        await record(journal, [said(1, "My secret is Xyzzy.")], [says("Xyzzy!")], Answered(("say",)))
        assert "Xyzzy" in run_text(journal_place)
        await journal.forget_player(ANNA.id)
        text = run_text(journal_place)
    assert "Xyzzy" not in text
    assert "Anna" not in text


async def test_the_test_of_a_run_passes_and_fails_with_it(tmp_path: Path) -> None:
    async with (
        writing(tmp_path / "j", "assistant:1") as journal,
        living([calls(("say", {"text": "Hello."}))], journal=journal) as life,
    ):
        await life.assistant.inbox.take(changed(said(1, "Sage, hello?", ANN), at=reactor.seconds()))
        await life.assistant.settled()
    with closing(connect(tmp_path / "j")) as db:
        view = read_run(db, "run-1", str(tmp_path / "j"))
    assert view is not None
    made: dict[str, object] = {}
    exec(view.test, made)  # noqa: S102  (our own text, which is under test)
    again = made["test_run_1_comes_out_as_it_did"]
    assert callable(again)
    again()
    with closing(sqlite3.connect(tmp_path / "j")) as db, db:
        db.execute("UPDATE runs SET outcome = ?", (OUTCOME.encode(NothingToDo()),))
    with pytest.raises(AssertionError, match="ended otherwise"):
        again()
