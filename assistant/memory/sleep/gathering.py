"""Gathers the lines of each task of a night from the store: anew for each task, so that nothing forgotten is shown."""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.memory.remembering import profile_id
from mud_assistant.assistant.memory.sleep.plan import (
    JUDGED_PEOPLE,
    MAX_PAIRS,
    MIN_LINES,
    HeardSince,
    SleepPlan,
    SleepTask,
    SleepWish,
    TaskKind,
    choose_lines,
    find_pairs,
    group_by_audience,
    list_speakers,
    list_wishes,
    usable_lines,
)
from mud_assistant.assistant.memory.sleep.reading import MAX_PARTS
from mud_assistant.assistant.memory.sleep.state import SleepAnswer, SleepRecord, SleepState, SleepStore
from mud_assistant.tools.memories import Memory

#: The most lines of a day, of one person, and of one person for contradictions, that a night looks at.
MAX_HEARD, MAX_OWN, MAX_JUDGED = 1000, 200, 100
#: The most queued lists that a night looks at.
MAX_QUEUED = 20


class TaskSource:
    """Finds the tasks of one character's nights. `me` is the character's id."""

    def __init__(self, store: SleepStore, state: SleepState, plan: SleepPlan, me: str) -> None:
        self._store = store
        self._state = state
        self._plan = plan
        self._me = me

    async def measure(self, since: float, until: float) -> HeardSince:
        """Return how much was heard between two times."""
        lines = await self._store.lines_since(since, until, MAX_HEARD)
        heard = [line for line in lines if line.who != self._me]
        oldest = min((line.at for line in heard), default=None)
        return HeardSince(sum(line.importance for line in heard), oldest, lost=bool(await self._state.queued()))

    async def next_task(self, record: SleepRecord, done: set[str]) -> SleepTask | None:
        """Return the next task of the night, None when there is none. The keys of empty tasks are added to `done`."""
        until = record.until if record.until is not None else record.since
        lines = usable_lines(await self._store.lines_since(record.since, until, MAX_HEARD))
        lost = await self._lost()
        for wish in list_wishes(lines, lost, self._me):
            if wish.key in done:
                continue
            same = lost if wish.kind is TaskKind.ANEW else lines
            task = await self._gather(wish, group_by_audience(same)[wish.audience], record.since, until)
            if task is not None:
                return task
            done.add(wish.key)
        return None

    async def shown_task(self, answer: SleepAnswer) -> SleepTask | None:
        """Return the task that an answer is for, None when something that the model was shown is gone."""
        paired = {one for pair in answer.pairs for one in pair}
        wanted = {*answer.shown, *paired, *([answer.old] if answer.old else [])}
        there = {memory.id: memory for memory in await self._store.find(wanted)}
        if wanted - there.keys() or not (answer.shown or answer.pairs):
            return None
        lines = tuple(there[one] for one in answer.shown)
        pairs = tuple((there[older], there[newer]) for older, newer in answer.pairs)
        audience = (lines or pairs[0])[0].audience
        wish = SleepWish(TaskKind(answer.kind), audience, answer.who)
        return SleepTask(wish, lines, there.get(answer.old), pairs)

    async def take_from_queue(self, task: SleepTask) -> None:
        """Remove from the queue what was derived anew by a task."""
        shown = {line.id for line in task.lines}
        await self._state.dequeue([parts for parts in await self._state.queued() if shown.intersection(parts)])

    async def _lost(self) -> list[Memory]:
        """Return the lines of the queue. What has too few lines left is removed from it."""
        queued = (await self._state.queued())[:MAX_QUEUED]
        if not queued:
            return []
        found = usable_lines(await self._store.find({part for parts in queued for part in parts}))
        groups = group_by_audience(found).values()
        large = {line.id for group in groups if len(group) >= MIN_LINES for line in group}
        await self._state.dequeue([parts for parts in queued if not large.intersection(parts)])
        return [line for line in found if line.id in large]

    async def _gather(self, wish: SleepWish, group: Sequence[Memory], since: float, until: float) -> SleepTask | None:
        """Return the task of a wish, None when there is nothing to ask. `group` are the lines of its audience."""
        match wish.kind:
            case TaskKind.PROFILE:
                return await self._gather_profile(wish, until)
            case TaskKind.CONTRADICTIONS:
                return await self._gather_pairs(wish, group, since, until)
            case _:
                lines = choose_lines(group, self._plan.tokens_in)
                return SleepTask(wish, lines) if len(lines) >= MIN_LINES else None

    async def _gather_profile(self, wish: SleepWish, until: float) -> SleepTask | None:
        """Return the task to renew a profile from what its person said since; an overgrown one is begun anew."""
        old = next(iter(await self._store.find([profile_id(wish.who, wish.audience)])), None)
        own = await self._own_lines(wish, MAX_OWN, until)
        if old is not None and len(old.made_of) > MAX_PARTS:
            old = None
        elif old is not None:
            own = [line for line in own if line.at > old.at]
        lines = choose_lines(own, self._plan.tokens_in)
        return SleepTask(wish, lines, old) if lines and (old is not None or len(lines) >= MIN_LINES) else None

    async def _gather_pairs(
        self, wish: SleepWish, group: Sequence[Memory], since: float, until: float
    ) -> SleepTask | None:
        """Return the task to judge the contradictions of those who spoke most."""
        pairs: list[tuple[Memory, Memory]] = []
        for who in list_speakers(group, self._me)[:JUDGED_PEOPLE]:
            own = await self._own_lines(SleepWish(wish.kind, wish.audience, who), MAX_JUDGED, until)
            pairs += find_pairs(own, since)
        return SleepTask(wish, (), pairs=tuple(pairs[:MAX_PAIRS])) if pairs else None

    async def _own_lines(self, wish: SleepWish, limit: int, until: float) -> list[Memory]:
        lines = await self._store.lines_of(wish.who, wish.audience, limit)
        return usable_lines(line for line in lines if line.at <= until and line.audience == wish.audience)
