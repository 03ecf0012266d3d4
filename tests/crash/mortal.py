"""A journal that dies with its process at a chosen moment: nothing is written through it any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.journal import (
    NO_CHANGE,
    Accepted,
    Cleared,
    Forgotten,
    InterruptedRun,
    Parked,
    StoredJournal,
    StreamChange,
    UnknownEffect,
)
from mud_assistant.llm import LLMResponse, ToolCall
from mud_assistant.tools import Executed

T = TypeVar("T")


class Death(BaseException):
    """The process is no more. Not an Exception: nothing may catch it and go on."""


class MortalJournal:
    """Passes everything on; dies at boundary number `at`, counted from 0: before and after each thing written."""

    def __init__(self, journal: StoredJournal, at: int | None = None) -> None:
        self._journal = journal
        self._at = at
        self.boundaries: list[str] = []
        self.dead = False

    async def accept(self, event: Event, attention: Attention) -> None:
        await self._through("accept", lambda: self._journal.accept(event, attention))

    async def pending(self) -> Sequence[Accepted]:
        self._live()
        return await self._journal.pending()

    async def interrupted(self) -> InterruptedRun | None:
        self._live()
        return await self._journal.interrupted()

    async def open_run(self, events: Sequence[Accepted]) -> str:
        return await self._through("open_run", lambda: self._journal.open_run(events))

    async def record_response(self, run_id: str, step: int, response: LLMResponse) -> None:
        await self._through(f"response {step}", lambda: self._journal.record_response(run_id, step, response))

    async def record_intent(
        self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool, goals: Sequence[Goal] = ()
    ) -> None:
        await self._through(
            f"intent {step}.{index} {call.name}",
            lambda: self._journal.record_intent(run_id, step, index, call, effect=effect, goals=goals),
        )

    async def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        await self._through(
            f"result {step}.{index} {executed.call.name}",
            lambda: self._journal.record_result(run_id, step, index, executed),
        )

    async def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        await self._through(
            f"read {step}.{index} {executed.call.name}",
            lambda: self._journal.record_read(run_id, step, index, executed),
        )

    async def suspend_run(self, run_id: str) -> None:
        await self._through("suspend", lambda: self._journal.suspend_run(run_id))

    async def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> tuple[int, ...]:
        return await self._through("close_run", lambda: self._journal.close_run(run_id, outcome, change, goals))

    async def save_goals(self, goals: Sequence[Goal]) -> None:
        await self._through("save_goals", lambda: self._journal.save_goals(goals))

    async def goals(self, *, with_ended: bool = False) -> Sequence[Goal]:
        self._live()
        return await self._journal.goals(with_ended=with_ended)

    async def forget_player(self, principal_id: str) -> Forgotten:
        self._live()
        return await self._journal.forget_player(principal_id)

    async def clear_mind(self, *, memories: bool) -> Cleared:
        self._live()
        return await self._journal.clear_mind(memories=memories)

    async def forget_event(self, event_id: str, memory_id: str = "") -> int:
        self._live()
        return await self._journal.forget_event(event_id, memory_id)

    async def parked(self) -> Sequence[Parked]:
        return await self._journal.parked()

    async def unpark(self, event_id: str) -> bool:
        return await self._journal.unpark(event_id)

    async def discard(self, event_id: str) -> bool:
        return await self._journal.discard(event_id)

    async def unknown_effects(self) -> Sequence[UnknownEffect]:
        return await self._journal.unknown_effects()

    async def _through(self, name: str, write: Callable[[], Awaitable[T]]) -> T:
        self._pass(f"before {name}")
        written = await write()
        self._pass(f"after {name}")
        return written

    def _pass(self, boundary: str) -> None:
        self._live()
        if len(self.boundaries) == self._at:
            self.dead = True
            raise Death(boundary)
        self.boundaries.append(boundary)

    def _live(self) -> None:
        if self.dead:
            raise Death("again")
