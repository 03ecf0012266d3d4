"""Keeps the open goals of one character at hand, and tells which can be tried now. Pure: the journal stores them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.goal import MOST_A_PERSON, MOST_OPEN, OUTLIVES_VISIT, Goal, GoalKind, GoalState
from mud_assistant.tools.game import GameTime

#: How long a character waits where it promised to wait, in seconds: a day.
MAX_WAIT = 86_400.0
#: How long it stays where it promised to come, in seconds. After a restart it does not.
STAYS_SECONDS = 300.0
#: How long after its hour a goal that needs nobody is still worth keeping, in seconds.
GRACE = 3600.0
#: For how long an hour counts as not over yet, in seconds: it may come between two looks.
JUST = 2.0
#: The longest pause after a try that did not work, in seconds; a longer one is until the next look at an old goal.
SHORT_WAIT = 60.0
#: The goals that need somebody to hear them.
_FOR_EARS = frozenset({GoalKind.REMIND, GoalKind.TELL})


class GoalBook:
    """The goals of one character that are open, or withdrawn and not yet told, by their ids."""

    __slots__ = ("_goals", "_stays_until", "is_empty")

    def __init__(self, goals: Iterable[Goal] = ()) -> None:
        self._goals: dict[str, Goal] = {}
        #: Whether there are none. A field, since each run asks.
        self.is_empty = True
        #: Until when it stays where it promised to come, in clock seconds.
        self._stays_until = -math.inf
        self.put(goals)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._goals)

    def put(self, goals: Iterable[Goal]) -> None:
        """Take in new or changed goals, once they are in the journal. One that is over leaves."""
        for goal in goals:
            if goal.is_over:
                self._goals.pop(goal.id, None)
                if goal.kind is GoalKind.COME and goal.state is GoalState.DONE:
                    self._stays_until = goal.next_at
            else:
                self._goals[goal.id] = goal
        self.is_empty = not self._goals

    def get(self, goal_id: str) -> Goal | None:
        """Return a goal, None when it is over."""
        return self._goals.get(goal_id)

    def all(self) -> Sequence[Goal]:
        """Return all, the oldest first."""
        return sorted(self._goals.values(), key=lambda goal: goal.made_at)

    def open(self) -> Sequence[Goal]:
        """Return those that are still to be kept, the oldest first."""
        return [goal for goal in self.all() if goal.is_open]

    def of(self, principal_id: str) -> Sequence[Goal]:
        """Return the open goals of one person."""
        return [goal for goal in self.open() if goal.asker.id == principal_id]

    def forget(self, principal_id: str) -> None:
        """Drop the goals that a person asked for, and those that are meant for them."""
        whose = {goal.id for goal in self._goals.values() if principal_id in {goal.asker.id, goal.whom}}
        for goal_id in whose:
            del self._goals[goal_id]
        self.is_empty = not self._goals

    def has_room(self, asker: str, others: int = 0) -> bool:
        """Tell whether one more goal of this person may be taken on, beside so many `others` that are not put yet."""
        return len(self.open()) + others < MOST_OPEN and len(self.of(asker)) + others < MOST_A_PERSON

    def knows(self, new: Goal) -> bool:
        """Tell whether a goal says what an open one says already."""
        same = [goal for goal in self.of(new.asker.id) if (goal.kind, goal.whom_name) == (new.kind, new.whom_name)]
        return any(goal.id == new.id or goal.text == new.text for goal in same)

    def waits(self, now: float) -> bool:
        """Tell whether the character promised to wait where it is."""
        return bool(self._goals) and any(
            goal.kind is GoalKind.WAIT and now < goal.made_at + MAX_WAIT for goal in self.open()
        )

    def stays_put(self, now: float) -> str:
        """Return why the character stays where it is, empty when it may go."""
        if self.waits(now):
            return "it promised to wait"
        return "it came as it promised" if now < self._stays_until else ""

    def next_at(self, now: float, game: GameTime | None) -> float:
        """Return when the next goal that waits for an hour can be tried, in clock seconds; infinity for none.

        One whose hour is over and that waits for somebody to hear it has no time any more.
        """
        timed = [goal for goal in self.open() if goal.due is not None or goal.due_game is not None]
        times = [(goal, max(due_at(goal, now, game), goal.next_at)) for goal in timed]
        return min((at for goal, at in times if at > now - JUST or goal.kind not in _FOR_EARS), default=math.inf)

    def ready(self, now: float, game: GameTime | None, hears: Callable[[Goal], bool]) -> Goal | None:
        """Return the oldest goal that can be tried now. `hears` tells whether the person that it is for is there."""
        return next((goal for goal in self.all() if _is_ready(goal, now, game, hears)), None)


def due_at(goal: Goal, now: float, game: GameTime | None) -> float:
    """Return when a goal is due, in clock seconds; minus infinity when it only waits for a person.

    By a game's clock that the world does not have any more, it is due at once.
    """
    if goal.due is not None:
        return goal.due
    if goal.due_game is None or game is None:
        return -math.inf
    return now + (goal.due_game - game.seconds) / game.pace if game.pace > 0 else math.inf


def again(goal: Goal, now: float, game: GameTime | None) -> Goal:
    """Return a goal that was kept and comes again, with the next time that is still ahead."""
    if goal.due_game is not None and game is not None:
        passed = max(0.0, game.seconds - goal.due_game)
        return replace(goal, due_game=goal.due_game + goal.every * (1 + passed // goal.every))
    due = now if goal.due is None else goal.due
    return replace(goal, due=due + goal.every * (1 + max(0.0, now - due) // goal.every))


def _is_ready(goal: Goal, now: float, game: GameTime | None, hears: Callable[[Goal], bool]) -> bool:
    if now < goal.next_at:  # an old one is looked at once a day, and who must hear it may come before that
        is_old = goal.next_at - now > SHORT_WAIT and goal.is_open and goal.kind in _FOR_EARS
        return is_old and now >= due_at(goal, now, game) and hears(goal)
    if not goal.is_open:
        return hears(goal)
    if now >= goal.made_at + OUTLIVES_VISIT:
        return True
    if now < due_at(goal, now, game):
        return False
    if goal.kind is GoalKind.WAIT:  # first until they leave, then until they are back
        return hears(goal) is bool(goal.evidence) or now >= goal.made_at + MAX_WAIT
    return goal.kind not in _FOR_EARS or hears(goal)
