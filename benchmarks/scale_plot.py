"""Draws how many turns a second 1, 2 and 4 processes write that share one PostgreSQL, as measured on this machine.

    python -m benchmarks.scale_plot --out docs/pictures/scale-out.svg

A turn is what `postgres_child.py` writes for a word that was heard: eight writes, of which five are awaited. The
picture is plain SVG, in colours that can be read on light and dark pages.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.postgres import PROCESSES, TURN_SECONDS, TURNING, Turns, start_server, take_turns

#: The picture and its margins, in pixels.
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 360, 70, 56, 24, 56
#: Both can be read on white and on black.
INK, LINE = "#767676", "#2e86c1"
_STEPS = (1, 2, 5)
_PARTS = 5


def ticks(most: float) -> list[float]:
    """Return round numbers from nothing to `most` or a little more, four to six of them."""
    size = 1.0
    while size * 10 * _PARTS <= most:
        size *= 10
    step = next((size * one for one in (*_STEPS, 10, 20) if size * one * _PARTS >= most), size * 20)
    count = int(-(-most // step))
    return [step * at for at in range(max(1, count) + 1)]


def draw(points: Sequence[tuple[int, float]], title: str, below: str) -> str:
    """Return the picture of turns a second by number of processes."""
    marks = ticks(max(rate for _, rate in points))
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(index: int, rate: float) -> tuple[float, float]:
        return LEFT + across * (index + 0.5) / len(points), TOP + up * (1 - rate / marks[-1])

    parts = [_text(LEFT, 24, title, anchor="start", size=16)]
    for mark in marks:
        _, y = at(0, mark)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{INK}" opacity="0.3"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{mark:,.0f}", anchor="end"))
    places = [at(index, rate) for index, (_, rate) in enumerate(points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="2.5"/>')
    for (count, rate), (x, y) in zip(points, places, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{LINE}"/>')
        parts.append(_text(x, y - 12, f"{rate:,.0f}", size=14))
        parts.append(_text(x, HEIGHT - BOTTOM + 20, str(count)))
    parts.append(_text(LEFT + across / 2, HEIGHT - 14, "processes that share one PostgreSQL"))
    parts.append(_text(LEFT, 44, below, anchor="start", size=12))
    middle = TOP + up / 2
    parts.append(f'<g transform="rotate(-90 18 {middle})">{_text(18, middle, "turns a second")}</g>')
    told = f"{title}: " + ", ".join(f"{count}: {rate:,.0f}" for count, rate in points)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    lines = [f'{head} font-family="sans-serif" font-size="13">', f"<title>{escape(told)}</title>", *parts, "</svg>"]
    return "\n".join(lines) + "\n"


def _text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
    )


async def main(reactor: Any, found: list[tuple[int, Turns]]) -> None:
    """Measure, print, and add to `found`. Ends with a sentence where there is no server to start."""
    server = start_server()
    if server is None:
        raise SystemExit("needs pytest, psycopg, and Debian's package postgresql")
    try:
        for count in PROCESSES:
            found.append((count, await take_turns(reactor, server, count)))
            print(f"{count}: {found[-1][1]}")
    finally:
        server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_plot", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the picture, as SVG")
    given = parser.parse_args()
    measured: list[tuple[int, Turns]] = []
    try:
        react(lambda reactor: Deferred.fromCoroutine(main(reactor, measured)), ())
    except SystemExit as over:
        if over.code:
            raise
    where = f"server and processes on {os.cpu_count()} cores"
    words = f"{TURNING} assistants, 8 commits a turn, {TURN_SECONDS:.0f} s; {where}"
    rates = [(count, turns.per_second) for count, turns in measured]
    given.out.write_text(draw(rates, "Turns that the journal takes", words))
