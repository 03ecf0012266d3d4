"""Reads how long people waited in the last hour: until a model was asked, and until the first words were spoken."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.page.values.common import TimingPoint

#: How far back it is looked, and how long the time of one point is, in seconds.
SPAN, MINUTE = 3600.0, 60.0
#: The most runs that are looked at, the newest first.
_MOST = 5000

_RUNS = """
    SELECT runs.opened_at, min(events.accepted_at),
           (SELECT min(at) FROM intents WHERE intents.run = runs.seq AND intents.effect != 0)
    FROM runs JOIN run_events ON run_events.run = runs.seq JOIN events ON events.seq = run_events.event
    WHERE runs.seq > (SELECT coalesce(max(seq), 0) FROM runs) - ? AND runs.opened_at >= ?
          AND (? = '' OR runs.assistant = ?) AND events.verdict = 'trigger'
    GROUP BY runs.seq"""


def read_timings(db: Database, now: float, assistant: str = "") -> tuple[TimingPoint, ...]:
    """Return a point for each minute of the last hour in which there was a run, the oldest first.

    `now` is in seconds since 1970. An empty `assistant` stands for all. A run that was interrupted and resumed counts
    with its long wait. A clock that was set back makes no wait shorter than nothing.
    """
    waits: dict[float, list[float]] = defaultdict(list)
    words: dict[float, list[float]] = defaultdict(list)
    for opened_at, heard_at, spoken_at in db.execute(_RUNS, (_MOST, now - SPAN, assistant, assistant)):
        minute = opened_at - opened_at % MINUTE
        waits[minute].append(max(0.0, opened_at - heard_at))
        if spoken_at is not None:
            words[minute].append(max(0.0, spoken_at - heard_at))
    return tuple(
        TimingPoint(
            at=minute, waiting=median(waits[minute]), first_sentence=median(words[minute]) if minute in words else None
        )
        for minute in sorted(waits)
    )
