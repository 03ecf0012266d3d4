"""Stores what an assistant has promised: its goals, one row each. SQL only.

Beside the record stand the columns by which goals are found: who asked, whom they are meant for, and their state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import GOAL_EVENT, Goal, GoalState
from mud_assistant.assistant.journal.codec import Codec, Plain
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import BrokenRecord

_ADD = "INSERT INTO goals VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (assistant, id)"
#: Whether a goal is not over.
_LIVES = f"IN ('{GoalState.OPEN}', '{GoalState.WITHDRAWN}')"
_CHANGED = "asker = ?, whom = ?, state = ?, made_at = ?, changed_at = ?, payload = ?"
_NEW = ", ".join(f"{column} = excluded.{column}" for column in _CHANGED.replace(" = ?", "").split(", "))


def _pack(goal: Goal) -> Plain:
    plain = {name: part for name, part in to_builtins(goal).items() if part is not None}
    return plain if goal.audience is None else {**plain, "audience": sorted(goal.audience)}


def _unpack(plain: Plain) -> Goal:
    try:
        return convert(plain, Goal)
    except ValidationError as error:  # an unknown kind or state too: a newer program wrote it
        raise BrokenRecord(f"a record that is no goal ({error})") from error


GOAL: Codec[Goal] = Codec(_pack, _unpack)


def add(db: Database, assistant: str, goals: Iterable[Goal], now: float) -> None:
    """Add goals. One whose id is there already stays as it is. `now` is in seconds since 1970."""
    db.executemany(f"{_ADD} DO NOTHING", [(assistant, goal.id, *_values(goal, now)) for goal in goals])


def save(db: Database, assistant: str, goals: Iterable[Goal], now: float) -> None:
    """Write goals, each in the place of the one with its id, if there is one."""
    db.executemany(f"{_ADD} DO UPDATE SET {_NEW}", [(assistant, goal.id, *_values(goal, now)) for goal in goals])


def change(db: Database, assistant: str, goals: Iterable[Goal], now: float) -> None:
    """Write those of these goals that are there: one that was forgotten meanwhile does not come back."""
    query = f"UPDATE goals SET {_CHANGED} WHERE assistant = ? AND id = ?"  # our own words
    db.executemany(query, [(*_values(goal, now), assistant, goal.id) for goal in goals])


def load(db: Database, assistant: str, *, with_ended: bool) -> tuple[tuple[Goal, ...], int]:
    """Return the goals that are not over, or all, the oldest first, and how many cannot be read."""
    which = "" if with_ended else f" AND state {_LIVES}"
    query = f"SELECT payload FROM goals WHERE assistant = ?{which} ORDER BY made_at, id"
    found = [GOAL.find(record) for (record,) in db.execute(query, (assistant,))]
    return tuple(goal for goal in found if goal is not None), found.count(None)


def drop(db: Database, assistant: str, goal_id: str, reason: str, now: float) -> Goal | None:
    """Drop a goal that is not over, and return it as it is now; None when there is none of this id."""
    goal = next((goal for goal in load(db, assistant, with_ended=False)[0] if goal.id == goal_id), None)
    if goal is None:
        return None
    dropped = replace(goal, state=GoalState.DROPPED, reason=reason)
    change(db, assistant, [dropped], now)
    return dropped


def left_of(goal: Goal, principal_id: str, names: Iterable[str] = ()) -> Goal | None:
    """Return what is left of a goal when a person is forgotten: None of one that they asked for or that is for them.

    It is for them too when it names nobody's id, and one of their `names`.
    """
    if principal_id in {goal.asker.id, goal.whom}:
        return None
    if not goal.whom and goal.whom_name and goal.whom_name.casefold() in {name.casefold() for name in names}:
        return None
    if goal.audience is None or principal_id not in goal.audience:
        return goal
    return replace(goal, audience=goal.audience - {principal_id})


def forget(db: Database, assistant: str, principal_id: str, repeats: Callable[[str], bool]) -> frozenset[str]:
    """Remove the goals of a person, those that cannot be read, and those whose words `repeats` finds theirs.

    Return the ids of those that went. The person's id is taken out of what is left. Call it while it is still known how
    the person is called.
    """
    called = db.execute("SELECT name FROM acquaintances WHERE assistant = ? AND who = ?", (assistant, principal_id))
    names = [name for (name,) in called]
    rows = db.execute("SELECT id, changed_at, payload FROM goals WHERE assistant = ?", (assistant,)).fetchall()
    gone: list[str] = []
    for id_, changed_at, record in rows:
        goal = GOAL.find(record)
        left = None if goal is None else left_of(goal, principal_id, names)
        if left is None or repeats(f"{left.text}\n{left.what}"):
            gone.append(id_)
        elif left != goal:
            change(db, assistant, [left], changed_at)
    db.executemany("DELETE FROM goals WHERE assistant = ? AND id = ?", [(assistant, id_) for id_ in gone])
    return frozenset(gone)


def goal_of(event_id: str) -> str:
    """Return the id of the goal that an event is there for, empty for none."""
    return event_id.removeprefix(GOAL_EVENT).rpartition(":")[0] if event_id.startswith(GOAL_EVENT) else ""


def prune(db: Database, assistant: str, before: float) -> None:
    """Remove the goals that ended before this time, in seconds since 1970."""
    query = f"DELETE FROM goals WHERE assistant = ? AND NOT state {_LIVES} AND changed_at < ?"
    db.execute(query, (assistant, before))


def _values(goal: Goal, now: float) -> Sequence[object]:
    """Return the columns of a goal but for the assistant and the id."""
    return goal.asker.id, goal.whom, goal.state.value, goal.made_at, now, GOAL.encode(goal)
