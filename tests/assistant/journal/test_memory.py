from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
)
from mud_assistant.assistant.journal import InboxFullError, MemoryJournal
from mud_assistant.assistant.journal.memory import KEPT_RUNS
from mud_assistant.tools import Kind, Principal

T = TypeVar("T")
CONTEXT = Attention(Classification.CONTEXT, 3)


def now(work: Coroutine[Deferred[Any], Any, T]) -> T:
    results: list[T] = []
    Deferred.fromCoroutine(work).addCallback(results.append)
    return results[0]


def event(number: int) -> Noticed:
    return Noticed(id=str(number), at=0, who=Principal("w", "world", Kind.WORLD), text="x")


def test_accepted_events_wait_in_order() -> None:
    journal = MemoryJournal()
    for number in range(3):
        now(journal.accept(event(number), CONTEXT))
    assert [accepted.event.id for accepted in now(journal.pending())] == ["0", "1", "2"]


def test_an_event_is_taken_once() -> None:
    journal = MemoryJournal()
    now(journal.accept(event(1), CONTEXT))
    now(journal.accept(event(1), CONTEXT))
    assert len(now(journal.pending())) == 1


def test_a_full_inbox_refuses_and_keeps_what_it_has() -> None:
    journal = MemoryJournal(inbox_limit=1)
    now(journal.accept(event(1), CONTEXT))
    refused: list[object] = []
    Deferred.fromCoroutine(journal.accept(event(2), CONTEXT)).addErrback(lambda failure: refused.append(failure.value))
    assert isinstance(refused[0], InboxFullError)
    assert [accepted.event.id for accepted in now(journal.pending())] == ["1"]


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        (Answered(("say",)), []),
        (NothingToDo(), []),
        (LimitReached(Limit.STEPS), []),
        (Failed("x"), ["1"]),
        (Cancelled(), ["1"]),
    ],
)
def test_a_settled_run_takes_its_events_out_and_another_leaves_them(outcome: Outcome, left: list[str]) -> None:
    journal = MemoryJournal()
    now(journal.accept(event(1), CONTEXT))
    run = now(journal.open_run(now(journal.pending())))
    now(journal.accept(event(2), CONTEXT))
    now(journal.close_run(run, outcome))
    assert [accepted.event.id for accepted in now(journal.pending())] == [*left, "2"]
    assert journal.finished[-1].outcome == outcome


def test_the_last_runs_are_kept_for_reading() -> None:
    journal = MemoryJournal()
    runs = [now(journal.open_run(())) for _ in range(KEPT_RUNS + 5)]
    for run in runs:
        now(journal.close_run(run, NothingToDo()))
    assert [record.id for record in journal.finished] == runs[5:]
