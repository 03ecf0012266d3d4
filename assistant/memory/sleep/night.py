"""One character's sleep: a night of a few model calls, which the first event ends and the next quiet takes up again.

    the record says how far the night is         before each call, so that no kill makes a call free
    ask -> the answer is kept in the record      before anything is made of it
    read it -> each memory by one `derive`       under an id that the same answer gives again
    the task is done                             together with the answer's deletion

So a night may be cancelled or killed anywhere. What is written down is whole, and nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum

from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from mud_assistant.assistant.memory.sleep.asking import build_prompt
from mud_assistant.assistant.memory.sleep.gathering import TaskSource
from mud_assistant.assistant.memory.sleep.plan import (
    HeardSince,
    QuietSigns,
    SleepPlan,
    SleepTask,
    TaskKind,
    is_due,
    is_quiet,
    may_begin,
)
from mud_assistant.assistant.memory.sleep.reading import read_answer
from mud_assistant.assistant.memory.sleep.state import SleepAnswer, SleepRecord, SleepState, SleepStore
from mud_assistant.llm import LLMError, Message, SchemaMismatch
from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools.trust import Principal

#: The first and the longest pause after a model failed, in seconds. Each failure doubles the pause.
FIRST_PAUSE, LONGEST_PAUSE = 600.0, 6 * 3600.0
#: The shortest word of the character's name that stands for the name, in characters.
_NAME_CHARS = 4

#: Returns the text that a model answers to messages, as JSON of this schema where the server can. Raises LLMError.
AskAtNight = Callable[[Sequence[Message], JSONObject], Awaitable[str]]

_log = Logger()


class NightEnd(StrEnum):
    """How an attempt to sleep ended."""

    NOT_DUE = "not due"
    OVER = "over"  # the whole night
    WOKEN = "woken"  # by an event; the rest is for the next quiet
    VOID = "void"  # a player was forgotten whose words were read
    FAILED = "failed"  # the model did


class Sleeper:
    """Sleeps for one character, when it is time. `me` is the character, also known by the names in `aliases`.

    One night runs at a time. Call `wake` for each event, and `forgotten` after each forgetting.
    """

    def __init__(
        self,
        store: SleepStore,
        state: SleepState,
        ask: AskAtNight,
        me: Principal,
        plan: SleepPlan,
        *,
        aliases: Sequence[str] = (),
    ) -> None:
        self._store = store
        self._state = state
        self._ask = ask
        self._me = me
        words = (word for word in me.name.split() if len(word) >= _NAME_CHARS)
        self._names = tuple(dict.fromkeys((me.id, me.name, *words, *aliases)))
        self._plan = plan
        self._tasks = TaskSource(store, state, plan, me.id)
        self._night: Deferred[NightEnd] | None = None
        self._ends_as: NightEnd | None = None
        #: The ids of those whose words the task under way holds; None while that is not known.
        self._reading: frozenset[str] | None = None
        self._heard: HeardSince | None = None
        self._forgetting = 0
        self._pause = 0.0
        self._not_before = float("-inf")

    async def maybe(self, signs: QuietSigns) -> NightEnd:
        """Sleep, when a night is due or an earlier one was interrupted. Return how it ended.

        Cheap to call every minute: it looks at the memories only when the signs allow a night, and only once until the
        next event. Cancelling interrupts the night, which the next call takes up again.
        """
        if self._night is not None or self._forgetting or signs.now < self._not_before or not self._plan.sleep:
            return NightEnd.NOT_DUE
        self._ends_as = None
        self._night = Deferred.fromCoroutine(self._sleep(signs))
        try:
            return await self._night
        except CancelledError:
            end = self._interrupted_as()
            if end is None:
                raise
            return end
        finally:
            self._night = None
            self._reading = None

    def wake(self) -> None:
        """Note that something happened: interrupt the night under way. What is left of it waits for the next quiet."""
        self._heard = None
        self._interrupt(NightEnd.WOKEN)

    async def forgotten(self, principal_id: str, parts: Iterable[tuple[str, ...]] = ()) -> None:
        """Throw away what is under way of a player who was forgotten, of all for "", and queue what is derived anew.

        Call it when the store has forgotten them. `parts` are the lists of `list_parts_left`. A night that read nothing
        of the player goes on.
        """
        self._forgetting += 1
        try:
            if self._reading is None or not principal_id or principal_id in self._reading:
                self._interrupt(NightEnd.VOID)
                record = await self._state.load()
                if record.answer is not None:
                    await self._state.save(replace(record, answer=None))
            await self._state.enqueue(parts)
            self._heard = None
        finally:
            self._forgetting -= 1

    def _interrupted_as(self) -> NightEnd | None:
        return self._ends_as

    def _interrupt(self, end: NightEnd) -> None:
        if self._night is not None:
            self._ends_as = end
            self._night.cancel()

    async def _sleep(self, signs: QuietSigns) -> NightEnd:
        """Begin a night, or take one up, and work through its tasks."""
        record = await self._begin(signs)
        if record is None:
            return NightEnd.NOT_DUE
        while True:
            self._reading = None
            if record.answer is not None:
                record = await self._use_answer(record, record.answer)
                continue
            done = set(record.done)
            task = await self._tasks.next_task(record, done) if record.calls < self._plan.sleep_calls else None
            if task is None:
                await self._end(record)
                return NightEnd.OVER
            self._reading = task.sources
            record = replace(record, calls=record.calls + 1, done=tuple(sorted(done)))
            await self._state.save(record)
            text = await self._answer(task, signs.now)
            if text is None:
                return NightEnd.FAILED
            record = replace(record, answer=_keep_answer(task, text))
            await self._state.save(record)

    async def _begin(self, signs: QuietSigns) -> SleepRecord | None:
        """Return the record of the night to sleep now, None when there is none."""
        record = await self._state.load()
        if record.until is not None:
            again = is_quiet(self._plan, signs) or may_begin(self._plan, signs, record.last_night)
            return record if again else None
        if not may_begin(self._plan, signs, record.last_night):
            return None
        if self._heard is None:
            self._heard = await self._tasks.measure(record.since, signs.now)
        if not is_due(self._plan, signs, self._heard, record.last_night):
            return None
        self._heard = None
        record = SleepRecord(last_night=signs.now, since=record.since, until=signs.now)
        await self._state.save(record)
        return record

    async def _end(self, record: SleepRecord) -> None:
        """Close the night. Lines of which a model made nothing at all are there for the next night, too."""
        slept = record.derived or not record.calls
        since = record.until if slept and record.until is not None else record.since
        await self._state.save(SleepRecord(last_night=record.last_night, since=since))
        _log.info("{name} slept: {calls} model calls", name=self._me.name, calls=record.calls)

    async def _answer(self, task: SleepTask, now: float) -> str | None:
        """Ask the model. Return None when it fails, and sleep no more for a while then."""
        prompt = build_prompt(task, self._me.name)
        try:
            text = await self._ask(prompt.messages, prompt.schema)
        except SchemaMismatch as error:
            text = error.answer
        except LLMError as error:
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
            self._not_before = now + self._pause
            _log.warn("the sleep of {name} was interrupted: {why}", name=self._me.name, why=str(error))
            return None
        self._pause = 0.0
        return text

    async def _use_answer(self, record: SleepRecord, answer: SleepAnswer) -> SleepRecord:
        """Write down what an answer gives, and return the record without it.

        When a memory that the model was shown is gone, nothing is made of the answer, and the task is not done.
        """
        task = await self._tasks.shown_task(answer)
        derived = False
        if task is not None:
            self._reading = task.sources
            derived = await self._write(task, answer.text, record.last_night or 0.0)
            if task.wish.kind is TaskKind.ANEW:
                await self._tasks.take_from_queue(task)
            record = replace(record, done=(*record.done, answer.task))
        record = replace(record, answer=None, derived=record.derived or derived)
        await self._state.save(record)
        return record

    async def _write(self, task: SleepTask, text: str, at: float) -> bool:
        """Write down what a text gives. Return whether anything was."""
        result = read_answer(text, task, self._names, at)
        needs = [line.id for line in (*task.lines, *([task.old] if task.old else []))]
        written = False
        for memory in result.memories:
            written |= await self._store.derive(memory, needs)
        for older, newer in result.superseded:
            written |= await self._store.settle(older, newer)
        return written


def _keep_answer(task: SleepTask, text: str) -> SleepAnswer:
    """Return what is kept of an answer until memories were made of it."""
    return SleepAnswer(
        task.wish.key,
        task.wish.kind,
        task.wish.who,
        text,
        tuple(line.id for line in task.lines),
        tuple((older.id, newer.id) for older, newer in task.pairs),
        task.old.id if task.old is not None else "",
    )
