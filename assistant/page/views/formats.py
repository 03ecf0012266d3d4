"""How numbers, money, durations and times are written on the pages: one way each, in plain text."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from mud_assistant.assistant.page.views.element import Element, h

_MINUTE = 60.0
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def number(value: float) -> str:
    """Write a count with separators: 12,345."""
    return f"{value:,.0f}" if math.isfinite(value) else "unknown"


def short_number(value: float) -> str:
    """Write a count so that it fits a chart or a narrow column: 950, 12.3k, 4.1M."""
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".rstrip("0").rstrip(".") + mark
    return f"{value:.0f}"


def money(amount: float) -> str:
    """Write an amount in the owner's currency, which has no name here: 12.35, and 0.0042 where cents say nothing."""
    if not math.isfinite(amount):
        return "unknown"
    return f"{amount:,.4f}" if 0 < abs(amount) < 0.1 else f"{amount:,.2f}"  # noqa: PLR2004  (ten cents)


def percent(part: float) -> str:
    """Write a part of one as a percentage: 0.42 is 42 %."""
    return f"{part * 100:.0f}\u00a0%"


def duration(seconds: float) -> str:
    """Write seconds as people say them: 340 ms, 2.4 s, 3 min 12 s, 2 h 5 min, 3 d 4 h."""
    if not math.isfinite(seconds) or seconds < 0:
        return "unknown"
    if seconds < 1:
        return f"{seconds * 1000:.0f}\u00a0ms"
    if seconds < 10:  # noqa: PLR2004  (a tenth of a second says something up to here)
        return f"{seconds:.1f}\u00a0s"
    if seconds < _MINUTE:
        return f"{seconds:.0f}\u00a0s"
    if seconds < _HOUR:
        return _two(seconds, _MINUTE, "min", 1, "s")
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    return _two(seconds, _DAY, "d", _HOUR, "h")


def _two(seconds: float, large: float, large_mark: str, small: float, small_mark: str) -> str:
    whole, rest = divmod(seconds, large)
    left = int(rest // small)
    return f"{whole:.0f}\u00a0{large_mark}" + (f" {left}\u00a0{small_mark}" if left else "")


def ago(then: float, now: float) -> str:
    """Write how long ago something was, in one unit: now, 40 s ago, 3 h ago."""
    passed = now - then
    if passed < 1:
        return "now"
    for size, mark in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if passed >= size:
            return f"{passed // size:.0f}\u00a0{mark} ago"
    return f"{passed:.0f}\u00a0s ago"


def time_at(at: float | None, *, precise: bool = False) -> Element:
    """Return a time as an element: UTC as written, local time once the script has run. `precise` shows seconds.

    None is a dash. The whole time in UTC is always in the title.
    """
    if at is None:
        return h("span", "\u2013", class_="quiet")
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return h("span", "unknown time", class_="quiet")
    shown = moment.strftime("%d %b %H:%M:%S UTC" if precise else "%d %b %H:%M UTC").lstrip("0")
    return h(
        "time",
        shown,
        datetime=moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        title=moment.strftime("%Y-%m-%d %H:%M:%S UTC"),
        data_time="precise" if precise else "short",
    )
