"""The journal in memory: the same promises for as long as the process lives. For trials and tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.classify import Attention
from assistant.events import Event
from assistant.journal.errors import UnknownRun
from assistant.journal.journal import Accepted, InboxFullError
from assistant.outcome import Outcome, settles
from llm.messages import ToolCall
from llm.response import LLMResponse
from tools.result import Executed

#: Finished runs kept for reading.
KEPT_RUNS = 100
#: Ids of settled events kept, so that one that comes again is not taken twice.
KEPT_IDS = 1000


@dataclass(slots=True)
class RunRecord:
    """All that is known of one run."""

    id: str
    event_ids: tuple[str, ...]
    responses: list[LLMResponse] = field(default_factory=list)
    intents: list[tuple[int, int, ToolCall]] = field(default_factory=list)
    results: list[tuple[int, int, Executed]] = field(default_factory=list)
    outcome: Outcome | None = None


class MemoryJournal:
    """Keeps up to `inbox_limit` pending events and the last runs."""

    def __init__(self, inbox_limit: int = 500) -> None:
        self._inbox_limit = inbox_limit
        self._inbox: dict[str, Accepted] = {}
        self._count = 0
        self._open: dict[str, RunRecord] = {}
        self._settled: dict[str, None] = {}
        self.finished: deque[RunRecord] = deque(maxlen=KEPT_RUNS)

    async def accept(self, event: Event, attention: Attention) -> None:
        """Take an event; one that was accepted already is not taken twice."""
        if event.id in self._inbox or event.id in self._settled:
            return
        if len(self._inbox) >= self._inbox_limit:
            raise InboxFullError(f"{len(self._inbox)} events are waiting")
        self._inbox[event.id] = Accepted(event, attention)

    async def pending(self) -> Sequence[Accepted]:
        """The inbox, oldest first."""
        return tuple(self._inbox.values())

    async def open_run(self, events: Sequence[Accepted]) -> str:
        """A new run, numbered from 1."""
        self._count += 1
        run_id = f"run-{self._count}"
        self._open[run_id] = RunRecord(run_id, tuple(accepted.event.id for accepted in events))
        return run_id

    async def record_response(self, run_id: str, step: int, response: LLMResponse) -> None:
        """Keep a model's answer."""
        self._run(run_id).responses.append(response)

    async def record_intent(self, run_id: str, step: int, index: int, call: ToolCall) -> None:
        """Keep that a call is about to run."""
        self._run(run_id).intents.append((step, index, call))

    async def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        """Keep what a call came to."""
        self._run(run_id).results.append((step, index, executed))

    async def close_run(self, run_id: str, outcome: Outcome) -> None:
        """Keep the outcome; settled events leave the inbox."""
        run = self._run(run_id)
        del self._open[run_id]
        run.outcome = outcome
        self.finished.append(run)
        if settles(outcome):
            for event_id in run.event_ids:
                self._inbox.pop(event_id, None)
                self._settled[event_id] = None
            while len(self._settled) > KEPT_IDS:
                del self._settled[next(iter(self._settled))]

    def _run(self, run_id: str) -> RunRecord:
        """The open run of this id. UnknownRun."""
        if run_id not in self._open:
            raise UnknownRun(run_id)
        return self._open[run_id]
