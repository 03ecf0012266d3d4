"""What every chart has: its figure with a sentence and a table, a scale, gridlines, patterns, a legend."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.parts import Columns, more_of, table

#: How many series have a look of their own; further ones must be joined to "others" by the caller.
SERIES = 7
#: Paths drawn over a tile of 6 by 6 pixels, so that series differ without colour.
_INKS = ("", "M0 6L6 0", "M0 3H6", "M0 0L6 6", "M3 0V6", "M0 3H6M3 0V6", "M1 1h2")


class LimitLine(Struct, frozen=True):
    """A line across a chart that should not be passed, and what is written at it."""

    value: float
    label: str


def figure(sentence: str, *drawn: object, columns: Columns, rows: Iterable[Sequence[str]]) -> Element:
    """Return a chart with the sentence that says what it shows, and its numbers as a table that opens."""
    return h(
        "figure",
        drawn,
        h("figcaption", sentence),
        more_of("Numbers", table(sentence, columns, list(rows))),
        class_="chart",
    )


def drawing(title: str, sentence: str, height: int, *content: object, class_: str = "plot") -> Element:
    """Return the picture itself: as wide as its column and `height` pixels high, named and described for readers."""
    return h(
        "svg",
        h("title", title),
        h("desc", sentence),
        content,
        role="img",
        aria_label=f"{title}. {sentence}",
        width="100%",
        height=height,
        class_=class_,
    )


def at(part: float) -> str:
    """Write a part of one as a length of SVG."""
    return f"{min(1.0, max(0.0, part)) * 100:.2f}%"


def scale(highest: float, steps: int = 4) -> list[float]:
    """Return round numbers from 0 to at least `highest`, about `steps` of them apart from 0."""
    if not math.isfinite(highest) or highest <= 0:
        return [0.0, 1.0]
    raw = highest / steps
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= raw * 0.999)
    return [step * index for index in range(math.ceil(highest / step - 1e-9) + 1)]


def axis(ticks: Sequence[float], height: float, top: float, write: Callable[[float], str]) -> Element:
    """Return the numbers beside the gridlines. A reader has them from the table."""
    marks = [
        h("text", write(tick), x="100%", y=f"{top + height * (1 - tick / ticks[-1]) + 4:.1f}", text_anchor="end")
        for tick in ticks
    ]
    return h("svg", marks, class_="axis", width="100%", height=int(height + top + 24), aria_hidden="true")


def gridlines(ticks: Sequence[float], height: float, top: float) -> list[Element]:
    """Return a line for each tick."""
    return [
        h("line", x1="0", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid" if tick else "base")
        for tick in ticks
        for y in [top + height * (1 - tick / ticks[-1])]
    ]


def patterns(prefix: str, count: int) -> Element:
    """Return the fills of `count` series, as `fill_of` names them."""
    tiles = [
        h(
            "pattern",
            h("rect", width="6", height="6", class_=f"s{index + 1}"),
            h("path", d=_INKS[index], class_="ink") if _INKS[index] else None,
            id=f"{prefix}-{index + 1}",
            width="6",
            height="6",
            patternUnits="userSpaceOnUse",
        )
        for index in range(min(count, SERIES))
    ]
    return h("defs", tiles)


def fill_of(prefix: str, index: int) -> str:
    """Return the fill of a series, by its number from 0."""
    return f"url(#{prefix}-{min(index, SERIES - 1) + 1})"


def prefix_of(title: str) -> str:
    """Return a prefix for the ids of a chart; titles must differ on a page."""
    return "chart-" + (re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "x")


def legend(prefix: str, names: Sequence[str]) -> Element | None:
    """Return what each series is called beside its fill; nothing for one series."""
    if len(names) < 2:  # noqa: PLR2004  (one series needs no key)
        return None
    items = [
        h(
            "li",
            h(
                "svg",
                h("rect", width="12", height="12", rx="3", fill=fill_of(prefix, index)),
                width="12",
                height="12",
                aria_hidden="true",
            ),
            h("span", name),
        )
        for index, name in enumerate(names)
    ]
    return h("ul", items, class_="legend")
