"""Draws the month of twenty characters: where they were by the hour, what they did on each day, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.month_tally import PLACES
from benchmarks.scale_plot import INK, LEFT, RIGHT, WIDTH, ticks

#: What is drawn, from the bottom of a bar to its top, with colours that can be read on white and on black.
PARTS = (
    ("walks", "#2e86c1"),
    ("gestures and words of the day", "#27ae60"),
    ("promises", "#d35400"),
)
_WHERE = tuple(zip(PLACES, ("#27ae60", "#2e86c1", "#d35400", "#c0392b", "#95a5a6"), strict=True))
_COST = (("tokens", "#8e44ad"),)
#: How high a panel is, and what is kept free above and below it, in pixels.
_UP, _ABOVE, _BELOW = 150, 48, 50
_PANEL = _ABOVE + _UP + _BELOW
Bars = Sequence[Mapping[str, float]]


def draw(days: Bars, hours: Bars) -> str:
    """Return the picture: three panels of bars, of the hours of the day and of the days."""
    names = [str(at + 1) if at in (0, len(days) - 1) or (at + 1) % 5 == 0 else "" for at in range(len(days))]
    clock = [f"{at}:00" if at % 6 == 0 else "" for at in range(len(hours))]
    shares = [{part: 100 * count / max(1, sum(hour.values())) for part, count in hour.items()} for hour in hours]
    lines = [
        *_panel(0, "Where: percent of looks by the hour of the day (nobody plays by night)", shares, _WHERE, clock),
        *_panel(1, "What: acts a day that nobody asked for at that moment", days, PARTS, names),
        *_panel(2, "Cost: tokens a day, all for answers and summaries", days, _COST, names),
    ]
    totals = ", ".join(f"{sum(day.get(part, 0) for day in days):,} {part}" for part, _ in (*PARTS, *_COST))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {3 * _PANEL}" role="img"'
    told = f"<title>{len(days)} days of 20 characters: {totals}</title>"
    return "\n".join([f'{head} font-family="sans-serif" font-size="13">', told, *lines, "</svg>"]) + "\n"


def _panel(place: int, title: str, bars: Bars, parts: Sequence[tuple[str, str]], names: Sequence[str]) -> Sequence[str]:
    """Return one panel, the `place`th from the top: stacked bars, with a name below some, and what the colours mean."""
    top = place * _PANEL + _ABOVE
    base, across = top + _UP, (WIDTH - LEFT - RIGHT) / len(bars)
    marks = ticks(max(1.0, *(sum(bar.get(part, 0) for part, _ in parts) for bar in bars)) - 1e-6)
    lines = [_text(LEFT, top - 28, title, "start", 15)]
    for mark in marks:
        y = base - _UP * mark / marks[-1]
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{INK}" opacity="0.3"/>')
        lines.append(_text(LEFT - 8, y + 4, f"{mark:,.0f}", "end", 11))
    for at, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y, x = float(base), LEFT + across * (at + 0.15)
        for part, colour in parts:
            tall = _UP * bar.get(part, 0) / marks[-1]
            y -= tall
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{across * 0.7:.1f}" height="{tall:.1f}" fill="{colour}"/>'
            )
        if name:
            lines.append(_text(x + across * 0.35, base + 16, name, size=11))
    x = float(LEFT)
    for part, colour in parts:
        lines.append(f'<rect x="{x:.1f}" y="{top - 17}" width="10" height="10" fill="{colour}"/>')
        lines.append(_text(x + 14, top - 8, part, "start", 12))
        x += 34 + 6.2 * len(part)
    return lines


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}" font-size="{size}">{words}</text>'
