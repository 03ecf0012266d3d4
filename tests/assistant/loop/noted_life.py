"""What the assistant of a model of its runs lives with: a journal and a body that tell what happens, and may fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, fail

from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.journal import (
    NO_CHANGE,
    Accepted,
    InterruptedRun,
    JournalUnwritable,
    StoredJournal,
    StreamChange,
)
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody
from mud_assistant.llm import LLMResponse
from mud_assistant.resilience import BudgetSpent, Caller
from mud_assistant.tools import Executed, Principal, ToolContext, ToolFailed
from mud_assistant.tools.trust import Audience
from tests.assistant.living import Witness
from tests.assistant.loop.planned_lines import FIRST_PART, REST_PART, SAGE, STAFF, STAFF_CHANNEL, Line, Way
from tests.assistant.loop.store_in_memory import StoreInMemory

Check = TypeVar("Check", bound=Callable[..., Any])


def noted(check: Check) -> Check:
    """Keep what is wrong: the assistant takes an error for one of its own, and lives on."""

    @wraps(check)
    def checked(self: Any, *arguments: Any) -> Any:
        try:
            return check(self, *arguments)
        except AssertionError as wrong:
            self.wrong.append(str(wrong).partition("\n")[0] or f"in {check.__name__}")
            raise

    return checked  # type: ignore[return-value]


class Faults(Protocol):
    """What goes wrong, each thing once, and whether the process has ended."""

    store: StoreInMemory

    def due(self, fault: str) -> bool: ...


class Notes(Protocol):
    """What is told of everything that happens."""

    #: Whether a fault touched the run that goes on, or an earlier process began it.
    is_disturbed: bool
    #: What did not come as it must.
    wrong: list[str]

    def began(self) -> None: ...
    def opened(self, run_id: str, events: Sequence[Accepted]) -> None: ...
    def asked(self, caller: Caller, text: str) -> Line: ...
    def refused(self, spent: BudgetSpent) -> None: ...
    def pondered(self, context: ToolContext) -> None: ...
    def did(self, deed: str, number: int, context: ToolContext) -> None: ...
    def heard(self, who: Principal, way: Way, text: str) -> None: ...
    def confided(self, text: str, audience: frozenset[str]) -> None: ...
    def ended(self, run_id: str, outcome: Outcome) -> None: ...


class NotedJournal(StoredJournal):
    """A journal that tells of its runs. When it is due, it cannot write down an answer, or what came of a call."""

    notes: Notes
    faults: Faults
    #: Whether something of the run that goes on was not written down.
    is_unwritten = False

    async def open_run(self, events: Sequence[Accepted]) -> str:
        run_id = await super().open_run(events)
        self.notes.opened(run_id, events)
        return run_id

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Deferred[None]:
        return self._unwritten("answer") or super().record_response(run_id, step, response)

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Deferred[None]:
        return self._unwritten("result") or super().record_result(run_id, step, index, executed)

    def _unwritten(self, what: str) -> Deferred[None] | None:
        if not self.faults.due(f"{what} unwritten"):
            return None
        self.is_unwritten = True
        return fail(JournalUnwritable("the disk is full"))

    async def interrupted(self) -> InterruptedRun | None:
        self.is_unwritten = False
        found = await super().interrupted()
        if found is not None:
            self.notes.opened(found.id, found.events)
        return found

    async def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> tuple[int, ...]:
        if self.is_unwritten:
            self.notes.wrong.append(f"{run_id} is over, and not all of it is written down")
        try:
            return await super().close_run(run_id, outcome, change, goals)
        finally:
            if self._is_closed(run_id):  # also when the process ended right after that
                self.notes.ended(run_id, outcome)

    def _is_closed(self, run_id: str) -> bool:
        store = self.lease.store
        assert isinstance(store, StoreInMemory)
        number = int(run_id.removeprefix("run-"))
        [closed_at] = store.tables.execute("SELECT closed_at FROM runs WHERE seq = ?", (number,)).fetchone()
        return closed_at is not None


class Ears(Witness):
    """What one person hears of the assistant."""

    def __init__(self, who: Principal, notes: Notes) -> None:
        super().__init__()
        self.who, self.notes = who, notes

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        self._hear(speaker, Way.ALOUD, text)

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        self._hear(speaker, Way.WHISPER, text)

    def heard_page(self, speaker: Principal, text: str) -> None:
        self._hear(speaker, Way.PAGE, text)

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        self._hear(speaker, Way.CHANNEL, text)

    def saw_emote(self, actor: Principal, text: str) -> None:
        self._hear(actor, Way.ALOUD, text)

    def _hear(self, speaker: Principal, way: Way, text: str) -> None:
        if speaker.id == SAGE.id:
            self.notes.heard(self.who, way, text)


class Body:
    """The body of the assistant: it is nobody's after death, and what it is to do may hang, break or be refused."""

    def __init__(self, body: EmbeddedBody, faults: Faults, notes: Notes) -> None:
        self._body, self._faults, self._notes = body, faults, notes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    async def look(self) -> Any:
        if self._faults.due("look"):
            raise ToolFailed("It is dark.")
        return await self._body.look()

    def say(self, text: str, to: str = "") -> Awaitable[None]:
        if REST_PART in text and FIRST_PART not in text and self._faults.due("rest refused"):
            raise ToolFailed("Your voice fails.")
        return self._perform("say", lambda: self._body.say(text, to))

    def emote(self, text: str) -> Awaitable[None]:
        return self._perform("emote", lambda: self._body.emote(text))

    def whisper(self, target: str, text: str, *, only: Audience = None) -> Awaitable[None]:
        here = [who.id for who in self._body.principals() if who.name == target]
        if here and (only is None or not only.isdisjoint(here)):
            self._notes.confided(text, frozenset(here))
        return self._perform("whisper", lambda: self._body.whisper(target, text, only=only))

    def page(self, target: str, text: str, *, only: Audience = None) -> Awaitable[None]:
        return self._perform("page", lambda: self._body.page(target, text, only=only))

    def speak_on(self, channel: str, text: str) -> Awaitable[None]:
        if channel != STAFF_CHANNEL:
            return self._perform("channel", lambda: self._body.speak_on(channel, text))

        async def speak() -> None:
            for who in STAFF:
                self._notes.heard(who, Way.STAFF, text)

        return self._perform("channel", speak)

    def _perform(self, what: str, act: Callable[[], Awaitable[None]]) -> Awaitable[None]:
        faults = self._faults
        faults.store.check_alive()
        if faults.due(f"{what} hangs"):
            return Deferred()
        if faults.due(f"{what} breaks"):
            raise RuntimeError("the game is broken for a moment")
        return act()
