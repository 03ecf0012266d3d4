"""Figures with their limits and verdicts, as one table and as lines of JSON."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

#: Spread of the quartiles, as a share of the median, above which a ratio is too noisy to be judged.
NOISY = 0.25
_WITH = ("twisted", "treq", "aiohttp", "openai", "litellm", "pydantic-ai-slim", "pydantic", "orjson")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `high` is what is judged (the upper quartile of a ratio); without a limit it is only told.

    `goal` is the number of the goal in reference/performance.md section 7, or the word of design.md section 9.
    """

    goal: str
    name: str
    value: float | None
    unit: str = ""
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    #: Figures of the same measurement that are not judged.
    detail: dict[str, Any] = field(default_factory=dict)
    #: Whether it is the least that is asked for, not the most.
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """met, missed, too noisy, or nothing when there is nothing to judge."""
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


def ratio(goal: str, name: str, ratios: Sequence[float], limit: float | None = None, **more: Any) -> Figure:
    """A figure of the ratios of the rounds: median, and both quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    return Figure(goal, name, middle, "x", limit, low, high, **more)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def table(figures: Sequence[Figure]) -> str:
    """The figures as one table of text."""
    rows = [("goal", "figure", "measured", "quartiles", "limit", "verdict", "note")]
    for one in figures:
        value = "-" if one.value is None else f"{_short(one.value)}{_unit(one.unit)}"
        spread = f"{_short(one.low)}..{_short(one.high)}" if one.low is not None and one.high is not None else ""
        sign = ">=" if one.at_least else "<="
        limit = f"{sign} {_short(one.limit)}{_unit(one.unit)}" if one.limit is not None else ""
        rows.append((one.goal, one.name, value, spread, limit, one.verdict, one.note))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def versions() -> dict[str, str]:
    """What took part, by name."""
    found = {"python": platform.python_version()}
    for name in _WITH:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not there"
    return found


def write_json(path: Path, figures: Sequence[Figure], seconds: float) -> None:
    """One line of JSON for each figure, after one that says what took part."""
    first = {"versions": versions(), "machine": platform.machine(), "seconds": round(seconds, 1)}
    rows = [{**asdict(one), "verdict": one.verdict} for one in figures]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in (first, *rows)), encoding="utf-8")


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004
