"""Draws what hours under load showed: memory, CPU, how late words were, the server's log, what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.scale_plot import INK, LEFT, RIGHT, WIDTH, ticks

#: The panels: a title, and the curves of each with their colours, which can be read on white and on black.
PANELS = (
    ("Memory of the worker that was left alone, MiB", (("memory", "#2e86c1"),)),
    ("Its CPU, percent of a core", (("cpu", "#27ae60"),)),
    ("Seconds from a word to the question to the model", (("longest", "#d35400"), ("wait", "#2e86c1"))),
    ("Log of the server, MiB", (("wal", "#8e44ad"),)),
    ("Words left and answered", (("told", "#95a5a6"), ("answered", "#27ae60"))),
    (
        "Words lost or answered twice, acts of which nobody knows",
        (("lost", "#c0392b"), ("twice", "#d35400"), ("unknown", "#95a5a6")),
    ),
)
#: How high a panel is, and what is kept free above and below it, in pixels.
_UP, _ABOVE, _BELOW = 100, 46, 30
_PANEL = _ABOVE + _UP + _BELOW
_BLOWS = ("kill", "hang", "term", "server")

Samples = Sequence[Mapping[str, Any]]


def draw(samples: Samples) -> str:
    """Return the picture, a panel for each curve over the hours. A line from top to bottom is an end of the server."""
    last = samples[-1]
    hours = max(last["at"] / 3600, 0.01)
    lines: list[str] = []
    for place, (title, curves) in enumerate(PANELS):
        lines += _panel(place, title, curves, samples, hours)
    blows = ", ".join(f"{last[name]} {name}" for name in _BLOWS)
    told = f"{hours:.2f} hours of three workers; {blows}; {last.get('lost')} lost, {last.get('twice')} twice"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {len(PANELS) * _PANEL}" role="img"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', f"<title>{told}</title>", *lines, "</svg>\n"])


def _panel(place: int, title: str, curves: Sequence[tuple[str, str]], samples: Samples, hours: float) -> Sequence[str]:
    """Return one panel, the `place`th from the top."""
    top, across = place * _PANEL + _ABOVE, WIDTH - LEFT - RIGHT
    base = top + _UP
    most = max((one.get(name) or 0.0 for one in samples for name, _ in curves), default=0.0)
    marks = ticks(max(most, 1.0) - 1e-6)
    lines = [_text(LEFT, top - 24, title, "start", 14)]

    def x_of(sample: Mapping[str, Any]) -> float:
        return LEFT + across * float(sample["at"]) / 3600 / hours

    for mark in marks:
        y = base - _UP * mark / marks[-1]
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{INK}" opacity="0.3"/>')
        lines.append(_text(LEFT - 8, y + 4, f"{mark:,.0f}", "end", 10))
    for before, after in pairwise(samples):
        if after["server"] > before["server"] and "server" in before:
            x = x_of(after)
            lines.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{base}" stroke="#c0392b" opacity="0.5"/>')
    x = float(LEFT)
    for name, colour in curves:
        points = [(x_of(one), base - _UP * one[name] / marks[-1]) for one in samples if one.get(name) is not None]
        path = " ".join(f"{at:.1f},{y:.1f}" for at, y in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        lines.append(f'<rect x="{x:.1f}" y="{top - 17}" width="10" height="10" fill="{colour}"/>')
        lines.append(_text(x + 14, top - 8, name, "start", 11))
        x += 34 + 6.2 * len(name)
    for part in range(5):
        at = hours * part / 4
        lines.append(_text(LEFT + across * part / 4, base + 15, f"{at:.2f} h", size=10))
    return lines


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}" font-size="{size}">{words}</text>'
