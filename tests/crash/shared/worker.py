"""One of the processes that share a journal on PostgreSQL, with as many assistants as it can get; it may be killed.

Each assistant hears events that the process makes up itself, and answers each with one effect of a body that only
writes it down. What happens is in logs that outlive the process: `acknowledged`, `acts` and `taken`, a JSON array in
each line. Nothing here is imported with a reactor: `live` is called in a freshly forked process.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic, time  # noqa: TID251  (the composition root of a process)
from typing import Any, TextIO

from twisted.internet import posixbase  # noqa: F401  (loaded here, each process need not; it installs no reactor)
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import globalLogBeginner, textFileLogObserver

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered, Cancelled
from mud_assistant.assistant.journal import Accepted, Fenced, HeldElsewhere, InterruptedRun, JournalError, StoredJournal
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, ToolResult, Usage
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.tools import Category, Executed, Principal, Status

ANN = Principal("player:1", "Ann")
TRIGGER = Attention(Classification.TRIGGER, 10, addressed=True)
#: What a process passes again and again: before and after each thing that is written or done.
BOUNDARIES = tuple(
    f"{side} {what}"
    for what in ("start", "accept", "open", "response", "intent", "act", "result", "close")
    for side in ("before", "after")
)
#: How long an assistant does nothing between two runs, and after the journal failed, in seconds, at most.
IDLE_SECONDS, TROUBLE_SECONDS = 0.5, 0.3
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True, slots=True)
class Shift:
    """What a process is begun with. `name` is that by which others know it.

    It begins with those assistants whose number leaves `first` of `first_of`, and waits for the others. It sends itself
    `signal` when it passes the boundary `at` for the `count`th time; 0 is no signal. `is_last` deals with what is left
    of every assistant, makes up nothing, and ends. One that `begins_known` does nothing before the others know that it
    lives: until then it may not act.
    """

    number: int
    name: str
    folder: Path
    url: str
    assistants: tuple[str, ...]
    first: int = 0
    first_of: int = 1
    at: str = ""
    count: int = 1
    signal: int = 0
    is_last: bool = False
    begins_known: bool = False


class MayNotAct(Exception):
    """The process does not know whether the character is still its own."""


class Staff:
    """The assistants of a process."""

    def __init__(self, shift: Shift, reactor: Any) -> None:
        self.shift = shift
        self._reactor = reactor
        self.chance = Random(shift.number)  # noqa: S311
        self.shared = SharedJournal(JournalConfig(url=shift.url), shift.name, reactor, time)
        self._logs = {
            name: os.open(shift.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for name in ("acknowledged", "acts", "taken")
        }
        self._left = shift.count
        self.is_last = shift.is_last

    def write(self, log: str, *line: object) -> None:
        """Write a line that outlives this process: its number, the time, and what is told."""
        os.write(self._logs[log], json.dumps([self.shift.number, monotonic(), *line]).encode() + b"\n")

    def passes(self, boundary: str) -> None:
        """Be killed or stopped here, if that is how this process ends."""
        if self.shift.signal and boundary == self.shift.at:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), self.shift.signal)

    async def pause(self, seconds: float) -> None:
        """Do nothing for a while."""
        await deferLater(self._reactor, self.chance.uniform(0, seconds))

    async def begin(self) -> None:
        """Open the journal, and run every assistant that is free, now or later."""
        await self.shared.open()
        hired = [Deferred.fromCoroutine(Hired(self, name, wait).work()) for name, wait in self._turns()]
        for one in hired:
            await one
        os._exit(0)

    def _turns(self) -> list[tuple[str, bool]]:
        """Each assistant, and whether it is first left to others."""
        shift = self.shift
        return [(name, at % shift.first_of != shift.first) for at, name in enumerate(shift.assistants)]


class Hired:
    """One assistant, as far as this process has it."""

    def __init__(self, staff: Staff, name: str, waits: bool) -> None:
        self._staff = staff
        self._name = name
        self._waits = waits
        self._journal = StoredJournal(staff.shared.store, name)
        self._heard = 0

    async def work(self) -> None:
        """Wait for the assistant and live it, again and again."""
        if self._waits:
            await self._staff.pause(1.0)
        while True:
            try:
                if await self._one_life():
                    return
            except HeldElsewhere:
                await self._staff.shared.until_free(self._name)
            except (Fenced, MayNotAct):
                self._staff.write("taken", self._name, 0)
            except JournalError:
                await self._staff.pause(TROUBLE_SECONDS)

    async def _one_life(self) -> bool:
        """Take the lease, and live until it is lost. Return True when nothing is left to do, in the last process."""
        self._staff.passes("before start")
        self._journal = StoredJournal(self._staff.shared.store, self._name)
        token = await self._journal.start()
        self._staff.write("taken", self._name, token)
        self._staff.passes("after start")
        while self._staff.shift.begins_known and not self._staff.shared.may_act(self._name):
            await self._staff.pause(TROUBLE_SECONDS)
        while True:
            try:
                if await self._one_turn() and self._staff.is_last:
                    for parked in await self._journal.parked():
                        await self._journal.discard(parked.event_id)
                    return True
            except Fenced:
                raise
            except JournalError:
                await self._staff.pause(TROUBLE_SECONDS)

    async def _one_turn(self) -> bool:
        """Deal with one run that was left open, or one event. Return True when nothing was left."""
        if (left := await self._journal.interrupted()) is not None:
            await self._go_on(left)
            return False
        if not (waiting := await self._journal.pending()):
            if self._staff.is_last:
                return True
            await self._hear()
            waiting = await self._journal.pending()
        run = await self._through("open", lambda: self._journal.open_run(waiting[:1]))
        await self._answer(run, waiting[:1])
        await self._staff.pause(IDLE_SECONDS)
        return False

    async def _go_on(self, left: InterruptedRun) -> None:
        """End a run as the rules are: what was begun is not done again, and what was not begun is done."""
        begun = any(call.intended for step in left.steps for call in step.calls)
        if left.poisoned:
            await self._through("close", lambda: self._journal.close_run(left.id, Cancelled()))
        elif begun:
            await self._through("close", lambda: self._journal.close_run(left.id, Answered(("say",))))
        else:
            await self._answer(left.id, left.events, is_answered=any(step.response for step in left.steps))

    async def _hear(self) -> None:
        self._heard += 1
        event_id = f"{self._name}-{self._staff.chance.getrandbits(48):x}"
        event = Said(id=event_id, at=0.0, who=ANN, text="Hello?", to_me=True)
        await self._through("accept", lambda: self._journal.accept(event, TRIGGER))
        self._staff.write("acknowledged", self._name, event.id)

    async def _answer(self, run: str, events: Sequence[Accepted], *, is_answered: bool = False) -> None:
        journal, ids = self._journal, [accepted.event.id for accepted in events]
        call = ToolCall("c", "say", {"text": " ".join(ids)})
        response = LLMResponse(said_by_model(call), FinishReason.TOOL_CALLS, Usage(1, 1), "none", "m")
        if not is_answered:
            await self._through("response", lambda: journal.record_response(run, 1, response))
        await self._through("intent", lambda: journal.record_intent(run, 1, 0, call, effect=True))
        self._staff.passes("before act")
        if not self._staff.shared.may_act(self._name):
            raise MayNotAct
        self._staff.write("acts", self._name, journal.lease.token, run, ids)
        self._staff.passes("after act")
        executed = Executed(call, ToolResult("c", "say", "Done."), Status.DONE, Category.TERMINAL, 0.0)
        await self._through("result", lambda: journal.record_result(run, 1, 0, executed))
        await self._through("close", lambda: journal.close_run(run, Answered(("say",))))

    async def _through(self, what: str, write: Callable[[], Any]) -> Any:
        self._staff.passes(f"before {what}")
        written = await write()
        self._staff.passes(f"after {what}")
        return written


def begin_life(path: Path) -> tuple[Any, TextIO]:
    """Return a reactor and the log at this path, for a process that dies with its parent and has no reactor yet."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (this process's composition root)

    log = path.open("a", encoding="utf-8")
    globalLogBeginner.beginLoggingTo([textFileLogObserver(log)], discardBuffer=True, redirectStandardIO=False)
    return reactor, log


def live(shift: Shift) -> None:
    """Work until killed, or until nothing is left. Only in a process that has no reactor yet."""
    reactor, log = begin_life(shift.folder / "workers.log")
    staff = Staff(shift, reactor)

    def give_up(failure: Any) -> None:
        log.write(f"Traceback of {shift.name}: {failure.getTraceback()}")
        log.flush()
        os._exit(2)

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(staff.begin()).addErrback(give_up))
    reactor.run(installSignalHandlers=False)
