"""Reads when players were heard by an assistant, when it acted, and how often it thought. SQL only."""

from __future__ import annotations

from msgspec import Struct

from mud_assistant.assistant.events.goal import GOAL_EVENT
from mud_assistant.assistant.journal.database import Database
from mud_assistant.tools.trust import ASSISTANT_ID

#: The most of each that is read, the newest.
MOST_READ = 50_000
#: Who is heard is no player: nobody, the world, and other assistants by how their ids begin.
_NO_PLAYERS = ("", "world")


class LivedLog(Struct, frozen=True):
    """What the journal has of an assistant's last days. Times are in seconds since 1970, the oldest first.

    `heard` are the times at which players said or did something before it, `acted` those at which it said or did
    something. `runs` is how many of its runs asked its model, and `tokens` and `money` what it used.
    """

    heard: tuple[float, ...] = ()
    acted: tuple[float, ...] = ()
    runs: int = 0
    tokens: int = 0
    money: float = 0.0


def read_lived(db: Database, assistant: str, since: float, since_day: int) -> LivedLog:
    """Return what there is since a time in seconds since 1970, and since a day as the budget numbers it."""
    heard = db.execute(
        """SELECT accepted_at FROM events WHERE assistant = ? AND accepted_at >= ? AND who NOT IN (?, ?)
           AND substr(who, 1, ?) <> ? AND substr(id, 1, ?) <> ? ORDER BY accepted_at DESC LIMIT ?""",
        (assistant, since, *_NO_PLAYERS, len(ASSISTANT_ID), ASSISTANT_ID, len(GOAL_EVENT), GOAL_EVENT, MOST_READ),
    ).fetchall()
    acted = db.execute(
        "SELECT at FROM intents WHERE assistant = ? AND at >= ? AND effect <> 0 ORDER BY at DESC LIMIT ?",
        (assistant, since, MOST_READ),
    ).fetchall()
    runs = db.execute(
        """SELECT count(*) FROM runs WHERE assistant = ? AND opened_at >= ?
           AND EXISTS (SELECT 1 FROM responses WHERE run = runs.seq)""",
        (assistant, since),
    ).fetchone()[0]
    used = "SELECT coalesce(sum(tokens), 0), coalesce(sum(money), 0.0) FROM usage WHERE account = ? AND day >= ?"
    tokens, money = db.execute(used, (assistant, since_day)).fetchone()
    times = [tuple(sorted(at for (at,) in rows)) for rows in (heard, acted)]
    return LivedLog(times[0], times[1], runs, int(tokens), float(money))
