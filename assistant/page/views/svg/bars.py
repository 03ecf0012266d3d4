"""Bars: a stacked one for each day, with a limit and what is expected; and ranked ones for players and models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import money, percent
from mud_assistant.assistant.page.views.parts import Columns, TableColumn, empty_state
from mud_assistant.assistant.page.views.svg.frame import (
    LimitLine,
    at,
    axis,
    drawing,
    figure,
    fill_of,
    gridlines,
    legend,
    patterns,
    prefix_of,
    scale,
)

_HEIGHT, _TOP = 168.0, 18.0
#: A limit that is so many times the highest bar would press the bars flat: it is said, not drawn.
_FAR = 3.0
_LONGEST_NAME = 44

Writer = Callable[[float], str]


class StackedBar(Struct, frozen=True):
    """One bar: what stands under it, its whole name, and a value for each series. An expected one is drawn hollow."""

    label: str
    title: str
    parts: tuple[float, ...]
    is_expected: bool = False


class RankedBar(Struct, frozen=True):
    """One bar of a ranking, with a note in small letters, such as its calls."""

    name: str
    value: float
    note: str = ""


def day_bars(
    title: str,
    sentence: str,
    series: Sequence[str],
    bars: Sequence[StackedBar],
    *,
    limit: LimitLine | None = None,
    write: Writer = money,
) -> Element:
    """Return a stacked bar for each day. `series` names the parts of a bar, at most 7, from the bottom up.

    A limit far above the bars is named in the sentence instead of drawn.
    """
    if not bars:
        return empty_state("Nothing was used in this time.")
    highest = max(sum(bar.parts) for bar in bars)
    is_far = limit is not None and highest > 0 and limit.value > _FAR * highest
    drawn = None if is_far else limit
    if is_far and limit is not None:
        sentence = f"{sentence} The {limit.label} is far above these bars."
    ticks = scale(max(highest, drawn.value if drawn else 0.0))
    key = prefix_of(title)
    width = 1 / len(bars)
    shapes = [
        _stack(bar, index * width, width, ticks[-1], key=key, series=series, write=write)
        for index, bar in enumerate(bars)
    ]
    picture = drawing(
        title,
        sentence,
        int(_TOP + _HEIGHT + 24),
        patterns(key, len(series)),
        gridlines(ticks, _HEIGHT, _TOP),
        shapes,
        _limit_line(drawn, ticks[-1]) if drawn else None,
        h("g", _day_labels(bars, width), class_="labels days", aria_hidden="true"),
    )
    total = TableColumn("Total", is_number=True)
    parts = [TableColumn(name, is_number=True) for name in series] if len(series) > 1 else []
    rows = [[_day_of(bar), *[write(part) for part in bar.parts if parts], write(sum(bar.parts))] for bar in bars]
    return figure(
        sentence,
        legend(key, series),
        h("div", axis(ticks, _HEIGHT, _TOP, write), picture, class_="plotted"),
        columns=["Day", *parts, total],
        rows=rows,
    )


def _day_labels(bars: Sequence[StackedBar], width: float) -> list[Element]:
    """Return the names of about six days, each below its bar."""
    every = max(1, round(len(bars) / 6))
    return [
        h("text", bar.label, x=at((index + 0.5) * width), y=f"{_TOP + _HEIGHT + 16:.0f}", text_anchor="middle")
        for index, bar in enumerate(bars)
        if index % every == every // 2
    ]


def _day_of(bar: StackedBar) -> str:
    return bar.title + (" (expected)" if bar.is_expected else "")


def _stack(
    bar: StackedBar, left: float, width: float, highest: float, *, key: str, series: Sequence[str], write: Writer
) -> Element:
    told = f"{bar.title}: {write(sum(bar.parts))}" + (" expected" if bar.is_expected else "")
    shapes: list[Element] = []
    foot = _TOP + _HEIGHT
    for index, part in enumerate(bar.parts):
        if part <= 0:
            continue
        height = part / highest * _HEIGHT
        foot -= height
        name = f"{bar.title}, {series[index]}: {write(part)}" if len(series) > 1 else told
        shapes.append(
            h(
                "rect",
                h("title", name),
                x=at(left + width * 0.14),
                y=f"{foot:.2f}",
                width=at(width * 0.72),
                height=f"{height:.2f}",
                rx="1.5",
                fill=None if bar.is_expected else fill_of(key, index),
                class_="expected" if bar.is_expected else "bar",
            )
        )
    return h("g", h("title", told), shapes)


def _limit_line(limit: LimitLine, highest: float) -> Element:
    y = _TOP + _HEIGHT * (1 - limit.value / highest)
    return h(
        "g",
        h("line", x1="0", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}"),
        h("text", limit.label, x="100%", y=f"{y - 5:.1f}", text_anchor="end"),
        class_="limit",
    )


def ranked_bars(title: str, sentence: str, bars: Sequence[RankedBar], *, what: str, write: Writer = money) -> Element:
    """Return a bar for each, the longest first as given. `what` heads their names in the table, such as "Player"."""
    if not bars:
        return empty_state("Nothing was used in this time.")
    highest = max((bar.value for bar in bars), default=0) or 1
    total = sum(bar.value for bar in bars) or 1
    step = 38
    shapes = []
    for index, bar in enumerate(bars):
        y = index * step
        name = bar.name if len(bar.name) <= _LONGEST_NAME else bar.name[: _LONGEST_NAME - 1] + "\u2026"
        shapes.append(
            h(
                "g",
                h("title", f"{bar.name}: {write(bar.value)}" + (f", {bar.note}" if bar.note else "")),
                h("text", name, x="0", y=str(y + 14), class_="name"),
                h("text", write(bar.value), x="100%", y=str(y + 14), text_anchor="end", class_="value"),
                h("rect", x="0", y=str(y + 21), width="100%", height="6", rx="3", class_="track"),
                h("rect", x="0", y=str(y + 21), width=at(bar.value / highest), height="6", rx="3", class_="s1"),
            )
        )
    rows = [[bar.name, write(bar.value), percent(bar.value / total), bar.note] for bar in bars]
    columns: Columns = [what, TableColumn("Used", is_number=True), TableColumn("Part", is_number=True), "Note"]
    picture = drawing(title, sentence, len(bars) * step - 8, shapes, class_="ranked")
    return figure(sentence, picture, columns=columns, rows=rows)
