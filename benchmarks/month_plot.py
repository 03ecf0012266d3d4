"""Draws what twenty characters did of themselves on each day of a month, and how often a model was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.scale_plot import HEIGHT, INK, LEFT, RIGHT, TOP, WIDTH, ticks

#: What is drawn, from the bottom of a bar to its top, with colours that can be read on white and on black.
PARTS = (
    ("walks", "#2e86c1"),
    ("gestures and words of the day", "#27ae60"),
    ("promises", "#d35400"),
)
_CALLS = "#8e44ad"
_BOTTOM = 72


def draw(days: Sequence[Mapping[str, int]]) -> str:
    """Return the picture: a bar for the acts of each day, and a line for the calls of models."""
    most = max([sum(day.get(part, 0) for part, _ in PARTS) for day in days] + [day.get("calls", 0) for day in days])
    marks = ticks(max(1, most))
    across, up = (WIDTH - LEFT - RIGHT) / len(days), HEIGHT - TOP - _BOTTOM

    def height(count: float) -> float:
        return up * count / marks[-1]

    base = HEIGHT - _BOTTOM
    lines = [_text(LEFT, 24, "What 20 characters did that nobody asked for at that moment", "start", 16)]
    lines.append(_text(LEFT, 44, "Acts a day; the line: calls of the model, nearly all of them answers", "start", 12))
    for mark in marks:
        y = base - height(mark)
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{INK}" opacity="0.3"/>')
        lines.append(_text(LEFT - 8, y + 4, f"{mark:,.0f}", "end"))
    for at, day in enumerate(days):
        y, x = float(base), LEFT + across * (at + 0.15)
        for part, colour in PARTS:
            tall = height(day.get(part, 0))
            y -= tall
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{across * 0.7:.1f}" height="{tall:.1f}" fill="{colour}"/>'
            )
        if at in (0, len(days) - 1) or (at + 1) % 5 == 0:
            lines.append(_text(x + across * 0.35, base + 16, str(at + 1)))
    path = " ".join(
        f"{LEFT + across * (at + 0.5):.1f},{base - height(day.get('calls', 0)):.1f}" for at, day in enumerate(days)
    )
    lines.append(f'<polyline points="{path}" fill="none" stroke="{_CALLS}" stroke-width="2"/>')
    lines.append(_text(LEFT + across * len(days) / 2, base + 34, "day"))
    for at, (part, colour) in enumerate((*PARTS, ("calls of the model", _CALLS))):
        x = LEFT + (0, 80, 310, 400)[at]
        lines.append(f'<rect x="{x}" y="{HEIGHT - 18}" width="10" height="10" fill="{colour}"/>')
        lines.append(_text(x + 14, HEIGHT - 9, part, "start", 12))
    totals = ", ".join(f"{sum(day.get(part, 0) for day in days):,} {part}" for part, _ in PARTS)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    told = f"<title>{len(days)} days of 20 characters: {totals}</title>"
    return "\n".join([f'{head} font-family="sans-serif" font-size="13">', told, *lines, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}" font-size="{size}">{words}</text>'
