"""Offers what a character promised when it is due, as events of its journal, and drops what nobody wants any more."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.events import ByRule, Event, Noticed
from mud_assistant.assistant.events.goal import Goal, GoalState
from mud_assistant.assistant.loop.keeping import give_up, who_is_there
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.tools.game import game_time
from mud_assistant.tools.text.clean import one_line

#: The line that tells a character why it acts now.
KEPT = 'You keep a promise. You said to {name}: "I will {goal}."'
KEPT_IN_PRIVATE = "You keep a promise."
#: After how long a try that came to no end counts as given up, in seconds.
STUCK_SECONDS = 600.0


class GoalOffers:
    """What one character promised, as its initiative asks for it."""

    __slots__ = ("_context", "_tried")

    def __init__(self, context: RunContext) -> None:
        self._context = context
        #: The number of the last try of each goal, and since when that is tried, in clock seconds.
        self._tried: dict[str, tuple[int, float]] = {}

    def next_at(self, now: float) -> float:
        """Return when the next goal can be tried, in clock seconds; infinity for none."""
        goals = self._context.memory.goals
        return math.inf if goals.is_empty else goals.next_at(now, game_time(self._context.body.world))

    def next_event(self, now: float) -> Event | None:
        """Return the event that tries to keep a goal that is due, None for none."""
        context = self._context
        if context.memory.goals.is_empty:
            return None
        goal = context.memory.goals.ready(
            now, game_time(context.body.world), lambda one: who_is_there(context, one) is not None
        )
        return None if goal is None else self._event(self._unless_stuck(goal, now), now)

    def _unless_stuck(self, goal: Goal, now: float) -> Goal:
        """Return the goal, withdrawn when its last try never came to an end: the journal has put its event aside."""
        number, since = self._tried.get(goal.id, (-1, now))
        if number != goal.attempts:
            self._tried[goal.id] = (goal.attempts, now)
        elif now - since > STUCK_SECONDS:
            goal = give_up(goal)
            self._context.memory.goals.put([goal])
        self._tried = {
            id_: tried for id_, tried in self._tried.items() if self._context.memory.goals.get(id_) is not None
        }
        return goal

    def stays(self, now: float) -> str:
        """Return why the character stays where it is, empty when it may go."""
        return self._context.memory.goals.stays_put(now)

    async def drop(self, goals: Sequence[Goal], reason: str) -> None:
        """Drop goals that nobody wants any more. Raises JournalError."""
        dropped = [replace(goal, state=GoalState.DROPPED, reason=reason) for goal in goals]
        if dropped:
            await self._context.memory.journal.save_goals(dropped)
            self._context.memory.goals.put(dropped)

    def _event(self, goal: Goal, now: float) -> Event:
        who = who_is_there(self._context, goal) or goal.asker
        only = () if goal.audience is None else (who.id,)
        told = KEPT_IN_PRIVATE if only else KEPT.format(name=one_line(goal.asker.name, max_chars=60), goal=goal.text)
        by_rule = ByRule("", {}, goal.asker, goal=goal.id, why="it was promised", only=only)
        return Noticed(id=goal.event_id, at=now, who=who, text=told, by_rule=by_rule)
