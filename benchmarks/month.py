"""A virtual month of characters that keep their word and have a day, and the scenes that the month does not hold.

    python -m benchmarks --only month             two days, about a minute
    python -m benchmarks --only month --full      thirty days, under 15 minutes of one core

Real loop, journal in SQLite, the embedded world, a model server over loopback; a clock that is moved on by hand.
With --full the picture of what was done and what it cost is drawn anew (docs/pictures/month.svg).
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.month_brain import Brain
from benchmarks.month_goals import fated
from benchmarks.month_play import month
from benchmarks.month_plot import draw
from benchmarks.month_scenes import nobody_plays, random_days, watched
from mud_assistant.llm.testing import FakeOllama, serve

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "month.svg"
#: Where files cost no time of a disk: how fast that is tells nothing here.
MEMORY = "/dev/shm"  # noqa: S108
_FOLDER = MEMORY if os.access(MEMORY, os.W_OK) else None
#: Days of the month, days of the fifty with random days, restarts half-way.
QUICK, FULL = (2, 1, 20), (30, 20, 300)


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Play everything, and return the rows."""
    days, random, restarts = FULL if full else QUICK
    used = time.process_time()

    def served(brain: Brain) -> AbstractAsyncContextManager[str]:
        return serve(FakeOllama(reactor, brain), reactor)

    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
        empty = await nobody_plays(reactor, Path(folder))
        brain = Brain(7)
        async with served(brain) as url:
            seen = await watched(reactor, url, 4, brain)
        fates = await fated(reactor, Path(folder))
        lived = await random_days(reactor, random)
        played = await month(reactor, Path(folder), days, restarts, served)
    if full:
        PICTURE.write_text(draw(played["days"], played["by_hour"]))
    rows = [*_empty(empty), *_watched(seen), *_goals(fates), *_days(lived), *_month(played, days)]
    minutes = (time.process_time() - used) / 60
    name = f"{days} days of 20 characters, and all the scenes"
    return [*rows, Figure("month", name, minutes, "min CPU", 15.0 if full else 2.0)]


def _empty(found: dict[str, float]) -> list[Figure]:
    return [
        Figure("month", "50 characters, nobody plays, 24 h: calls of a model", found["calls"], "", 0),
        Figure("month", "50 characters, nobody plays, 24 h: rows more in the journal", found["rows"], "", 0),
        Figure("month", "50 characters, nobody plays, 24 h: share of a core", found["share"], "% CPU", 0.2),
        Figure("month", "one player idle 8 h: calls after 15 min", found["idle_calls"], "", 0),
        Figure("month", "one player idle 8 h: lines after 15 min", found["idle_lines"], "", 0),
    ]


def _watched(found: dict[str, float]) -> list[Figure]:
    note = "one busy, one with free life, one with impulses only"
    return [
        Figure("month", "watched 4 h: calls an hour and character", found["calls"], "", 6, note=note),
        Figure("month", "watched 4 h: tokens a character", found["tokens"], "", 60_000),
        Figure("month", "watched 4 h: visible acts without a model", found["by_rule"], "%", 70, at_least=True),
    ]


def _goals(found: dict[str, int]) -> list[Figure]:
    above = sum(found[fate] for fate in ("falls", "mutes", "away", "gone"))
    kept = 100 * found["kept"] / found["asked"]
    asked = f"{found['kept']} of {found['asked']} with nothing between are kept"
    return [
        Figure("month", "of 500 promises kept: to who fell in rank, muted, left, stays away", above, "", 0, note=asked),
        Figure("month", "of 500 promises kept: to the forgotten", found["forgotten"], "", 0),
        Figure("month", "of 500 promises kept: where nothing came between", kept, "%", 100, at_least=True),
    ]


def _days(found: dict[str, float]) -> list[Figure]:
    looked = found["right"] + found["shown"] + found["wrong"]
    note = f"{found['shown']:.0f} given up and shown, of {looked:.0f} entries"
    days, right = f"{found['days']:.0f} random days", 100 * (found["right"] + found["shown"]) / looked
    return [
        Figure("month", f"{days}: entries in time or shown", right, "%", 95, at_least=True, note=note),
        Figure("month", f"{days}: steps that no exit leads to", found["jumps"], "", 0),
    ]


def _month(found: dict[str, Any], days: int) -> list[Figure]:
    told = ", ".join([*(f"{count} {state}" for state, count in found["states"].items() if count), *found["late"][:3]])
    kept = 100 * (1 - len(found["late"]) / max(1, found["promised"]))
    promises, restarts = f"{found['promised']} promises", f"{found['restarts']} restarts half-way"
    name = "month"
    return [
        Figure(name, f"{promises}: kept or withdrawn by their time", kept, "%", 100, at_least=True, note=told),
        Figure(name, f"{promises}: that nobody had asked for", len(found["false"]), "", 0),
        Figure(name, f"{promises}: ended without a reason", found["no_reason"], "", 0),
        Figure(name, f"{restarts}: lines said twice", found["twice"], "", 0),
        Figure(name, f"{restarts}: promises lost", found["lost"], "", 0),
        *_lived(found, days),
    ]


def _lived(found: dict[str, Any], days: int) -> list[Figure]:
    unasked, acts = f"{dict(found['kinds'])}", f"{found['unasked']} acts of initiative"
    where = ", ".join(f"{count} {place}" for place, count in found["places"].items())
    hours, name = f"{found['empty_hours']:.0f} hours in which nobody plays", "month"
    answers, each = found["calls"] - found["summaries"] - found["nights"], 1 / days / 20
    size = f"{found['bytes'] / 1e6:.1f} MB of journal"
    seen = found["seen"]
    return [
        Figure(name, f"{acts}: without a reason", found["no_why"], "", 0, note=unasked),
        Figure(name, f"{acts}: steps that no exit leads to", found["jumps"], "", 0),
        Figure(name, "20 characters: looks in time or shown", found["in_time"], "%", 95, at_least=True, note=where),
        Figure(name, f"{hours}: answers of models", found["empty_calls"], "", 0),
        Figure(name, f"{hours}: share of a core", found["empty_share"], "% CPU", 0.2),
        Figure("", "20 characters: visible acts without a model", seen, "%", note="the others are answers"),
        Figure(
            "",
            "a character and day: answers of its model",
            answers * each,
            note=f"the most asked: {found['most'] / days:.1f}",
        ),
        Figure("", "a character and day: summaries by its model", found["summaries"] * each),
        Figure("", "a character and day: calls of its nights", found["nights"] * each),
        Figure("", "a character and day: tokens", found["tokens"] * each),
        Figure("", "20 characters: rows of the journal a day", found["rows"] / days, note=size),
    ]
