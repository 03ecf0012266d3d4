"""Runs for a test to read: written with the real journal, as the loop writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Event, Said
from mud_assistant.assistant.events.outcome import Answered, Outcome
from mud_assistant.assistant.journal import Store, StoredJournal
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.llm import FinishReason, LLMResponse, Text, ToolCall, ToolResult, Usage
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.llm.messages import Block
from mud_assistant.tools import Category, Executed, Principal, Status

reactor: Any = _reactor
ANNA = Principal("player:7", "Anna")
TRIGGER = Attention(Classification.TRIGGER, 10, addressed=True)
NOON = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
SAID = "You said it. Everybody in the room heard you."
ANSWERED = Answered(("say",))
#: What may become of a call beside a result: begun and never over, or never done.
BEGUN, NOT_DONE = "begun", "not done"

Fate = Executed | str
Step = tuple[LLMResponse, Sequence[Fate]]


def said(number: int, text: str = "Sage, hello?", who: Principal = ANNA) -> Said:
    return Said(id=f"event-{number}", at=1.5, who=who, text=text, to_me=True)


def call(name: str, problem: str = "", **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{name}", name, arguments, problem)


def answer(*calls: ToolCall, text: str = "", usage: Usage | None = None) -> LLMResponse:
    blocks: list[Block] = [*([Text(text)] if text else []), *calls]
    finish = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
    return LLMResponse(said_by_model(*blocks), finish, usage or Usage(100, 5), "ollama", "qwen3:4b")


def came_to(
    called: ToolCall, text: str, status: Status = Status.DONE, category: Category | None = Category.SAFE_CHAIN
) -> Executed:
    return Executed(called, ToolResult(called.id, called.name, text, status is not Status.DONE), status, category, 0.25)


def spoke(called: ToolCall) -> Executed:
    return came_to(called, SAID, category=Category.TERMINAL)


def says(text: str) -> Step:
    """A step that says this, and was heard."""
    called = call("say", text=text)
    return answer(called), [spoke(called)]


def looks() -> Step:
    return answer(call("look")), [came_to(call("look"), '{"room":"The Old Library"}')]


def name_of(place: JournalPlace) -> Path | str:
    """What an owner writes for the place."""
    return place if isinstance(place, Path) else place.url


def store_at(place: JournalPlace) -> JournalStore:
    """A store that is not open yet. In PostgreSQL it is always the same process, which was started again."""
    if isinstance(place, Path):
        return Store(place, reactor, lambda: NOON)
    return PostgresStore(place.url, reactor, lambda: NOON, JournalProcess("test"))


@asynccontextmanager
async def writing(place: JournalPlace, assistant: str = "Sage") -> AsyncIterator[StoredJournal]:
    """The started journal of an assistant, closed at the end."""
    store = store_at(place)
    await store.open()
    try:
        journal = StoredJournal(store, assistant)
        await journal.start()
        yield journal
    finally:
        await store.close()


async def record(
    journal: StoredJournal, heard: Sequence[Event], steps: Sequence[Step] = (), outcome: Outcome | None = None
) -> str:
    """Write one run; without an outcome it stays open."""
    for event in heard:
        await journal.accept(event, TRIGGER)
    pending = [accepted for accepted in await journal.pending() if accepted.event in heard]
    run = await journal.open_run(pending)
    for number, (response, fates) in enumerate(steps, start=1):
        await journal.record_response(run, number, response)
        for index, fate in enumerate(fates):
            if fate == NOT_DONE:
                continue
            begun = fate.call if isinstance(fate, Executed) else response.tool_calls[index]
            await journal.record_intent(run, number, index, begun, effect=True)
            if isinstance(fate, Executed):
                await journal.record_result(run, number, index, fate)
    if outcome is not None:
        await journal.close_run(run, outcome)
    return run


async def one_run(place: JournalPlace, *steps: Step, outcome: Outcome | None = ANSWERED) -> None:
    """A journal that holds one run."""
    async with writing(place) as journal:
        await record(journal, [said(1)], steps, outcome)
