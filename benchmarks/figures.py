"""Figures with their limits and verdicts, and the table of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

#: Spread of the quartiles, as a share of the median, above which a ratio is too noisy to be judged.
NOISY = 0.25
#: How much the limits are widened where a run only guards against regressions.
GUARD = 1.3
#: What a limit of these units counts: it is exact, and never widened.
_EXACT = ("", "%")
#: The promises of docs/performance.md, in its order; the goals come before them, what is only reported after them.
_PROMISES = ("lag", "prompt", "small", "gateway")
MISSED, TOO_NOISY = 1, 3


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `high` is what is judged (the upper quartile of a ratio); without a limit it is only told.

    `goal` is the number of the goal in docs/performance.md, or the word of the promise.
    """

    goal: str
    name: str
    value: float | None
    unit: str = ""
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    #: Whether it is the least that is asked for, not the most.
    at_least: bool = False
    #: Rounds that the quartiles are of; 0 for what has none.
    rounds: int = 0
    #: Whether there is no figure because measuring it failed.
    failed: bool = False

    @property
    def verdict(self) -> str:
        """met, missed, too noisy, FAILED, or nothing when there is nothing to judge."""
        if self.failed:
            return "FAILED"
        if self.value is None or self.limit is None:
            return ""
        judged = self.value if self.high is None else self.high
        if self.at_least:
            return "met" if judged >= self.limit else "missed"
        if judged <= self.limit:
            return "met"
        if self.low is None or self.high is None or self.low > self.limit:
            return "missed"  # where three rounds of four are over it, noise is no excuse
        return "too noisy" if self.high - self.low > NOISY * abs(self.value) else "missed"

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return "-" if self.value is None else f"{short(self.value)}{_unit(self.unit)}"


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile."""
    if len(values) == 1:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4)
    return low, middle, high


def is_noisy(values: Sequence[float]) -> bool:
    """Whether the quartiles are too far apart for a verdict."""
    low, middle, high = quartiles(values)
    return high - low > NOISY * abs(middle)


def ratio(goal: str, name: str, ratios: Sequence[float], limit: float | None = None, **more: Any) -> Figure:
    """A figure of the ratios of the rounds: median, and both quartiles. `more` may name another unit."""
    low, middle, high = quartiles(ratios)
    return Figure(goal, name, middle, more.pop("unit", "x"), limit, low, high, rounds=len(ratios), **more)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def guarding(figure: Figure) -> Figure:
    """The same with its limit widened, if it is one that noise can be over."""
    if figure.limit is None or figure.unit in _EXACT or figure.at_least:
        return figure
    return replace(figure, limit=figure.limit * GUARD)


def in_order(figures: Sequence[Figure]) -> list[Figure]:
    """The goals by number, then the promises, then what is only told; the same line never twice."""
    return sorted({(one.goal, one.name): one for one in figures}.values(), key=_place)


def exit_status(figures: Sequence[Figure]) -> int:
    """0; 1 when a limit was missed or a section failed; 3 when that is not so, but something was too noisy to judge."""
    verdicts = {one.verdict for one in figures}
    if verdicts & {"missed", "FAILED"}:
        return MISSED
    return TOO_NOISY if "too noisy" in verdicts else 0


def table(figures: Sequence[Figure]) -> str:
    """The figures as one table of text, in the order in which they come."""
    rows = [("goal", "figure", "measured", "quartiles (rounds)", "limit", "verdict", "note")]
    for one in figures:
        spread = "" if one.low is None or one.high is None else f"{short(one.low)}..{short(one.high)}"
        spread += f" ({one.rounds})" if one.rounds else ""
        sign = ">=" if one.at_least else "<="
        limit = f"{sign} {short(one.limit)}{_unit(one.unit)}" if one.limit is not None else ""
        rows.append((one.goal, one.name, one.shown, spread, limit, one.verdict, one.note))
    return columns(rows)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text; the first is the head."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def short(value: float | None) -> str:
    """A number with as many digits as mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _place(figure: Figure) -> tuple[int, int]:
    if figure.goal.isdigit():
        return 0, int(figure.goal)
    if figure.goal in _PROMISES:
        return 1, _PROMISES.index(figure.goal)
    return (-1, 0) if figure.failed else (2, 0)
