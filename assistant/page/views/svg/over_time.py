"""Pictures of the last hour: how long people waited, and how the circuits of the servers were."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from mud_assistant.assistant.page.values.common import CircuitSpan, TimingPoint
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import duration
from mud_assistant.assistant.page.views.parts import Columns, TableColumn, empty_state
from mud_assistant.assistant.page.views.svg.frame import (
    at,
    axis,
    drawing,
    figure,
    gridlines,
    legend,
    patterns,
    prefix_of,
    scale,
)

_HEIGHT, _TOP = 120.0, 10.0
#: States of a circuit: the class of their colour, their height, and the word for people.
_CIRCUITS = {
    "closed": ("up", 8, "working"),
    "half_open": ("probing", 12, "being tried"),
    "open": ("down", 16, "not asked, it failed"),
}


def timing_lines(title: str, points: Sequence[TimingPoint]) -> Element:
    """Return the waiting time as an area and the time to the first sentence as a line, over the minutes of `points`."""
    values = [v for point in points for v in (point.waiting, point.first_sentence) if v is not None]
    if len(points) < 2 or not values:  # noqa: PLR2004  (a line needs two points)
        return empty_state("Nobody waited for an answer in the last hour.")
    ticks = scale(max(values), 3)
    first, last = points[0].at, points[-1].at
    width = (last - first) or 1.0
    places = [(point.at - first) / width * 1000 for point in points]
    waiting = _pieces(places, [point.waiting for point in points], ticks[-1])
    sentence = _pieces(places, [point.first_sentence for point in points], ticks[-1])
    told = _told(points)
    lines = h(
        "svg",
        [h("path", d=_area(piece), class_="area") for piece in waiting],
        [h("path", d=_line(piece), class_="line l1") for piece in waiting],
        [h("path", d=_line(piece), class_="line l2") for piece in sentence],
        viewBox="0 0 1000 100",
        preserveAspectRatio="none",
        x="0",
        y=str(_TOP),
        width="100%",
        height=str(_HEIGHT),
        overflow="visible",
    )
    key = prefix_of(title)
    picture = drawing(
        title,
        told,
        int(_TOP + _HEIGHT + 24),
        patterns(key, 2),
        gridlines(ticks, _HEIGHT, _TOP),
        lines,
        _clock_labels(first, last, _TOP + _HEIGHT + 16),
    )
    columns: Columns = ["Minute", TableColumn("Waiting", is_number=True), TableColumn("First sentence", is_number=True)]
    rows = [[_utc(point.at), _write(point.waiting), _write(point.first_sentence)] for point in points]
    return figure(
        told,
        legend(key, ["Waiting for the model to be asked", "First sentence spoken"]),
        h("div", axis(ticks, _HEIGHT, _TOP, duration), picture, class_="plotted"),
        columns=columns,
        rows=rows,
    )


def _told(points: Sequence[TimingPoint]) -> str:
    spoken = sorted(point.first_sentence for point in points if point.first_sentence is not None)
    if not spoken:
        return "No sentence was spoken in the last hour."
    middle, worst = spoken[len(spoken) // 2], spoken[-1]
    return f"The first sentence came after {duration(middle)} in the middle, {duration(worst)} in the worst minute."


def _write(value: float | None) -> str:
    return "\u2013" if value is None else duration(value)


def _pieces(places: Sequence[float], values: Sequence[float | None], highest: float) -> list[list[tuple[float, float]]]:
    """Return the runs of points between gaps."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, value in zip(places, values, strict=True):
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append((x, 100 - value / highest * 100))
    return [piece for piece in pieces if piece]


def _line(piece: Sequence[tuple[float, float]]) -> str:
    start, *rest = piece
    return f"M{start[0]:.1f} {start[1]:.1f}" + ("".join(f"L{x:.1f} {y:.1f}" for x, y in rest) or "h0.1")


def _area(piece: Sequence[tuple[float, float]]) -> str:
    return f"{_line(piece)}L{piece[-1][0]:.1f} 100L{piece[0][0]:.1f} 100Z"


def circuit_strip(title: str, spans: Sequence[CircuitSpan]) -> Element:
    """Return a strip for each server: what its circuit was over time. A worse state is taller as well as redder."""
    if not spans:
        return empty_state("No server of a model was asked in the last hour.")
    first, last = min(span.since for span in spans), max(span.until for span in spans)
    width = (last - first) or 1.0
    origins = list(dict.fromkeys(span.origin for span in spans))
    rows, drawn = [], []
    for index, origin in enumerate(origins):
        y = index * 44
        drawn.append(h("text", origin, x="0", y=str(y + 13), class_="name"))
        for span in (each for each in spans if each.origin == origin):
            class_, height, word = _CIRCUITS.get(span.circuit, ("none", 8, "unknown"))
            told = f"{word}, {duration(span.until - span.since)} from {_utc(span.since)}"
            shape = {"x": at((span.since - first) / width), "y": str(y + 36 - height), "height": str(height)}
            drawn.append(
                h(
                    "rect",
                    h("title", f"{origin}: {told}"),
                    width=at((span.until - span.since) / width),
                    class_=f"circuit {class_}",
                    **shape,
                )
            )
            rows.append([origin, word, _utc(span.since), duration(span.until - span.since)])
    changes = sum(before.circuit != after.circuit for before, after in pairwise(spans) if before.origin == after.origin)
    servers = "1 server" if len(origins) == 1 else f"{len(origins)} servers"
    told = f"{servers}, {changes} change{'' if changes == 1 else 's'} of state."
    height = len(origins) * 44 + 18
    picture = drawing(title, told, height, drawn, _clock_labels(first, last, height - 4), class_="strip")
    return figure(told, picture, columns=["Server", "State", "Since", "For"], rows=rows)


def _clock_labels(first: float, last: float, y: float) -> Element:
    labels = [
        h("text", _utc(moment), x=at(part), y=f"{y:.0f}", text_anchor=anchor, data_time="clock", data_at=_iso(moment))
        for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
        for moment in [first + (last - first) * part]
    ]
    return h("g", labels, class_="labels", aria_hidden="true")


def _utc(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M UTC")


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
