"""Defines what a character has promised: a goal, who asked for it, when it is due and what became of it. Pure."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from mud_assistant.tools.trust import Audience, Principal

#: The most goals a character keeps open at a time, and those of one person among them.
MOST_OPEN, MOST_A_PERSON = 5, 2
#: How long a goal outlives the last visit of the person who asked for it, in seconds.
OUTLIVES_VISIT = 14 * 86_400.0
#: The id of an event that is there to keep a goal begins with this.
GOAL_EVENT = "goal:"


class GoalKind(StrEnum):
    """What is to be done."""

    REMIND = "remind"  # tell the asker something at a time
    TELL = "tell"  # tell another person, when they come, what the asker said
    COME = "come"  # be at a place at a time
    WAIT = "wait"  # stay until the asker comes back
    CHORE = "chore"  # make a gesture, once or again and again


class GoalState(StrEnum):
    """What became of a goal. Only an open one is tried."""

    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"  # nobody wants it any more
    WITHDRAWN = "withdrawn"  # it could not be kept, and the asker is still to be told
    TOLD = "told"  # it could not be kept, and the asker knows


class Goal(Struct, frozen=True):
    """Something a character promised aloud. Times are in clock seconds, `due_game` is in seconds of the game's clock.

    The asker owns it: it is kept with the rank that they have when it is kept. `text` lists it for people, as in
    'remind you at dawn: the bread'. `what` holds the words to say or the gesture to make, `whom` the id and `whom_name`
    the name of the person to tell, where it is not the asker. `place` and `place_id` name the room where it is kept.
    With neither `due` nor `due_game` it waits for a person. `every` is the time until it is due again, in seconds of
    the clock that it goes by, 0 for once. `attempts` numbers its events, `next_at` is when the next may come at the
    earliest. `evidence` says what was seen of a goal that is done, `reason` why another one ended.
    """

    id: str
    kind: GoalKind
    text: str
    asker: Principal
    made_at: float
    authority: int = 0
    audience: Audience = None
    what: str = ""
    whom: str = ""
    whom_name: str = ""
    place: str = ""
    place_id: str = ""
    due: float | None = None
    due_game: float | None = None
    every: float = 0.0
    state: GoalState = GoalState.OPEN
    attempts: int = 0
    next_at: float = 0.0
    evidence: str = ""
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is still to be kept."""
        return self.state is GoalState.OPEN

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left to do: it is not to be kept, and nobody is to be told."""
        return self.state in {GoalState.DONE, GoalState.DROPPED, GoalState.TOLD}

    @property
    def event_id(self) -> str:
        """The id of the event that tries to keep it next."""
        return f"{GOAL_EVENT}{self.id}:{self.attempts}"
