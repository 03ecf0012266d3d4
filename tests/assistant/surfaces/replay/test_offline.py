"""Runs that are run again: the real loop over what was recorded, and what it says of a difference."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.outcome import Cancelled, Failed, Limit, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.records import RESPONSE
from mud_assistant.assistant.page.reading.recorded import RecordedCall, RecordedRun, RecordedStep
from mud_assistant.assistant.surfaces.replay.again import Replayer
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from mud_assistant.assistant.surfaces.replay.compare import Compared, compared
from mud_assistant.assistant.surfaces.replay.stage import CrashedThenError
from mud_assistant.tools import Category, Executed, Status, Tool
from mud_assistant.tools.verbs import LOOK, WORLD_TOOLS
from tests.assistant.surfaces.replay.recording import (
    ANSWERED,
    BEGUN,
    NOON,
    NOT_DONE,
    SAID,
    TRIGGER,
    Step,
    answer,
    call,
    came_to,
    looks,
    name_of,
    one_run,
    record,
    said,
    says,
    spoke,
    writing,
)
from tests.guards import FlushFailures

NORTH = call("move", direction="north")


def recorded(*steps: Step, outcome: Outcome | None = ANSWERED, attention: Attention = TRIGGER) -> RecordedRun:
    """A run as it is read from a journal."""
    told = []
    for number, (response, fates) in enumerate(steps, start=1):
        calls = []
        for index, fate in enumerate(fates):
            done = fate if isinstance(fate, Executed) else None
            asked = response.tool_calls[index] if index < len(response.tool_calls) else done.call if done else None
            calls.append(RecordedCall(index, done.call if done else asked, fate != NOT_DONE, done))
        told.append(RecordedStep(number, response, tuple(calls)))
    closed_at = None if outcome is None else NOON
    events = (Accepted(said(1), attention),)
    return RecordedRun("run-1", "Sage", NOON, closed_at, outcome, events, tuple(told))


def again(run: RecordedRun, present: Sequence[Tool] = WORLD_TOOLS, **settings: Any) -> Compared:
    config = Config.model_validate({"assistant": settings})
    return compared(run, Replayer(config, run.assistant, present).again(run))


def granted(run: RecordedRun, *names: str) -> Compared:
    return again(run, tools=names)


def done(name: str, status: Status, text: str = "No.", category: Category = Category.SAFE_CHAIN, **given: Any) -> Step:
    called = call(name, **given)
    return answer(called), [came_to(called, text, status, category)]


def test_a_run_that_comes_out_as_it_did_differs_in_nothing() -> None:
    result = again(recorded(looks(), says("Books.")))
    assert (result.differences, result.remarks) == ((), ())
    assert result.again.outcome == ANSWERED
    assert [trace.executed[0].result.text for trace in result.again.steps] == ['{"room":"The Old Library"}', SAID]


FAILING = [
    done("move", Status.FAILED, "There is no exit north.", Category.DANGEROUS, direction="north"),
    done("look", Status.TIMED_OUT, "look took too long and was stopped."),
    done("look", Status.CRASHED, "look did not work because of an internal problem."),
    (answer(NORTH), [BEGUN]),
    (answer(call("dance")), [NOT_DONE]),
    (answer(call("say")), [NOT_DONE]),
    (answer(call("say", "cut off in the middle")), [NOT_DONE]),
    (answer(NORTH, NORTH), [came_to(NORTH, "You go.", category=Category.DANGEROUS), NOT_DONE]),
    (answer(call("look"), call("who")), [came_to(call("look"), "A"), came_to(call("who"), "B")]),
]


@pytest.mark.parametrize("step", FAILING, ids=lambda step: f"{step[0].tool_calls[0].name}-{step[1]}"[:40])
def test_calls_that_failed_fail_again_in_the_same_way(step: Step, flush_failures: FlushFailures) -> None:
    result = again(recorded(step, says("So.")))
    assert (result.differences, result.remarks) == ((), ())
    crashes = [fate for fate in step[1] if isinstance(fate, Executed) and fate.status is Status.CRASHED]
    assert len(flush_failures(CrashedThenError)) == len(crashes)


def test_each_call_gets_its_own_result_back_whatever_the_order() -> None:
    map_, herbs = call("inspect", target="map"), call("inspect", target="herbs")
    step = answer(map_, herbs, map_), [came_to(map_, "1"), came_to(herbs, "2"), came_to(map_, "3")]
    result = again(recorded(step, says("So.")))
    assert [one.result.text for one in result.again.steps[0].executed] == ["1", "2", "3"]


def test_a_call_gets_its_own_result_when_the_one_before_it_is_not_taken_any_more() -> None:
    wrong, herbs = call("inspect", target="map", closely=True), call("inspect", target="herbs")
    result = again(recorded((answer(wrong, herbs), [came_to(wrong, "1"), came_to(herbs, "2")]), says("So.")))
    assert result.again.steps[0].executed[1].result.text == "2"


def test_a_tool_that_is_not_granted_any_more() -> None:
    found = granted(recorded(looks(), says("Books.")), "say")
    assert found.differences == ("step 1, look: was done then, and would be refused now: You may not use look.",)


def test_a_call_that_was_refused_and_would_be_done_now() -> None:
    found = again(recorded((answer(call("look")), [NOT_DONE]), says("Books.")))
    assert found.differences == ("step 1, look: was refused then, or its arguments did not fit, and would be done now",)


def test_a_tool_that_is_gone() -> None:
    found = again(recorded(looks(), says("Books.")), [tool for tool in WORLD_TOOLS if tool is not LOOK])
    assert found.differences == ("step 1, look: was done then; this tool is not there any more",)


def test_a_tool_of_another_game_that_was_never_known_here() -> None:
    found = again(recorded(done("web_search", Status.DONE, query="tea"), says("Tea.")))
    assert found.differences == ("step 1, web_search: was done then; this tool is not there any more",)


def test_arguments_that_the_present_tool_does_not_take() -> None:
    found = again(recorded(done("inspect", Status.DONE, target="map", closely=True), says("A map.")))
    (difference,) = found.differences
    assert difference.startswith(
        "step 1, inspect: was done then, and its arguments would not be taken now: inspect has"
    )


def test_words_of_which_cleaning_leaves_none() -> None:
    called = call("say", text="\u200b\u200b")
    found = again(recorded((answer(called), [spoke(called)]), says("Yes.")))
    assert found.differences == (
        "step 1, say: was done then, and would be failed now: There were no words in 'text'. Say something.",
    )


def test_an_answer_that_was_edited_no_longer_belongs_to_what_was_done() -> None:
    run = recorded(looks(), says("Books."))
    edited = structs.replace(run.steps[1], response=answer(call("say", text="Gold!")))
    found = again(structs.replace(run, steps=(run.steps[0], edited)))
    assert found.differences == (
        'step 2, say: now it is say {"text": "Gold!"}, and then it was say {"text": "Books."}',
    )


def test_an_answer_that_lost_a_call() -> None:
    run = recorded(
        (answer(call("look"), call("who")), [came_to(call("look"), "A"), came_to(call("who"), "B")]), says("x")
    )
    edited = structs.replace(run.steps[0], response=answer(call("look")))
    found = again(structs.replace(run, steps=(edited, run.steps[1])))
    assert found.differences == ("step 1: who {} was called then, and would not be called now",)


def test_an_answer_that_gained_a_call() -> None:
    run = recorded(looks(), says("x"))
    edited = structs.replace(run.steps[0], response=answer(call("look"), call("who")))
    found = again(structs.replace(run, steps=(edited, run.steps[1])))
    assert found.differences == ("step 1, who: is called now, and was not then",)


def test_fewer_steps() -> None:
    found = again(recorded(looks(), looks(), says("Books.")), max_steps=2)
    assert found.differences == (
        "only 2 of 3 steps would be made now",
        "ended otherwise: then answered with say; now limit reached: steps",
    )


def test_more_steps() -> None:
    found = again(recorded(looks(), looks(), outcome=LimitReached(Limit.STEPS)), max_steps=5)
    assert found.differences == ("then it ended (limit reached: steps); now the model would be asked once more",)


def test_plain_text_is_spoken_or_not_as_the_setting_says() -> None:
    text = answer(text="Books, mostly.")
    spoken = spoke(call("say", text="Books, mostly."))
    run = recorded((text, [spoken]))
    assert again(run, plain_text="speak").differences == ()
    assert again(run, plain_text="think").differences == (
        'step 1, noop: now it is noop {"reason": "Books, mostly."}, and then it was say {"text": "Books, mostly."}',
        "ended otherwise: then answered with say; now nothing to do: it chose to say nothing",
    )


@pytest.mark.parametrize("outcome", [None, Failed("nobody answers"), Cancelled(), LimitReached(Limit.TIME)])
def test_a_run_that_was_cut_off_is_run_again_as_far_as_there_are_answers(outcome: Outcome | None) -> None:
    found = again(recorded(looks(), outcome=outcome))
    assert found.differences == ()
    (remark,) = found.remarks
    assert remark.endswith("No further answer is recorded, so it was run again up to there")


def test_calls_that_a_dying_process_did_not_get_to_are_no_difference() -> None:
    found = again(recorded((answer(call("look"), call("say", text="Hm.")), [BEGUN, NOT_DONE]), outcome=None))
    assert found.differences == ()
    assert found.remarks == ("then: it did not end. With the recorded answers it now ends: answered with say",)


def test_a_call_that_would_be_refused_differs_even_in_a_run_that_was_cut_off() -> None:
    found = granted(recorded(looks(), outcome=None), "say")
    assert len(found.differences) == 1


def test_an_answer_that_damage_took_ends_the_run_there() -> None:
    run = recorded(looks(), says("Books."))
    found = again(structs.replace(run, steps=(run.steps[0], structs.replace(run.steps[1], response=None))))
    assert found.again.ended_early == "the answer of step 2 cannot be read"


def test_a_run_whose_events_are_lost_is_not_called_equal() -> None:
    found = again(structs.replace(recorded(looks()), events=()))
    assert found.differences == ("what was heard is not in the journal any more: it cannot be run again",)


def test_a_run_that_only_overheard_asks_nobody() -> None:
    overheard = Attention(Classification.CONTEXT, 1)
    found = again(recorded(outcome=NothingToDo(), attention=overheard))
    assert (found.differences, found.again.steps) == ((), ())


def test_a_tool_that_never_answers_does_not_hold_up_the_replay() -> None:
    slow = [replace(tool, timeout_seconds=3600.0) if tool is LOOK else tool for tool in WORLD_TOOLS]
    found = again(recorded(done("look", Status.TIMED_OUT), says("Hm.")), slow)
    assert found.again.steps[0].executed[0].status is Status.TIMED_OUT


def test_runs_of_one_assistant_see_what_the_earlier_ones_left() -> None:
    replayer = Replayer(Config(), "Sage")
    first = recorded(says("Eins."))
    second = structs.replace(recorded(says("Zwei.")), events=(Accepted(said(2), TRIGGER),))
    one, two = replayer.again(first), replayer.again(second)
    assert two.steps[0].messages == one.steps[0].messages + 3  # its answer, the result, and what was heard next


async def test_the_command_says_what_differs_and_its_exit_status_too(
    journal_place: JournalPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        await record(journal, [said(1)], [looks(), says("Books.")], ANSWERED)
        await record(journal, [said(2)], [says("Yes.")], ANSWERED)
    settings = tmp_path / "assistant.toml"
    settings.write_text("")
    wanted = ReplayOptions(name_of(journal_place), offline=True, config=settings)
    assert replay(wanted, lambda: NOON) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run-1  Sage  as it was, 2 steps",
        "run-2  Sage  as it was, 1 step",
        "2 runs run again: all as they were.",
    ]
    settings.write_text('[assistant]\ntools = ["say"]\n')
    assert replay(wanted, lambda: NOON) == 1
    assert capsys.readouterr().out.splitlines() == [
        "run-1  Sage  differs, 2 steps",
        "  differs: step 1, look: was done then, and would be refused now: You may not use look.",
        "run-2  Sage  as it was, 1 step",
        "2 runs run again: 1 of 2 come out otherwise.",
    ]
    assert replay(structs.replace(wanted, json=True), lambda: NOON) == 1
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["run"], first["differs"], second["differs"]) == ("run-1", True, False)
    assert replay(structs.replace(wanted, run=["run-2"]), lambda: NOON) == 0


async def test_a_file_whose_answer_was_edited_with_its_checksum_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await one_run(tmp_path / "j", says("Books."))
    with closing(sqlite3.connect(tmp_path / "j")) as db, db:
        db.execute("UPDATE responses SET payload = ?", (RESPONSE.encode(answer(call("say", text="Gold!"))),))
    assert replay(ReplayOptions(tmp_path / "j", offline=True), lambda: NOON) == 1
    assert 'now it is say {"text": "Gold!"}, and then' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("[assistant]\ntools = ['fly']\n", "there is no tool 'fly'"),
        ("[assistant]\nnames = 'Sage'\n", "line 2: assistant.names: there is no such setting"),
    ],
)
async def test_wrong_settings_are_one_sentence(
    settings: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await one_run(tmp_path / "j", says("Books."), outcome=ANSWERED)
    (tmp_path / "s.toml").write_text(settings)
    assert replay(ReplayOptions(tmp_path / "j", offline=True, config=tmp_path / "s.toml"), lambda: NOON) == 2
    assert why in capsys.readouterr().err


def test_replaying_opens_no_socket() -> None:
    def refuse(event: str, _: tuple[object, ...]) -> None:
        if listening and event.startswith("socket."):
            raise AssertionError(event)

    listening = True
    sys.addaudithook(refuse)
    try:
        assert again(recorded(looks(), says("Books."))).differences == ()
    finally:
        listening = False
