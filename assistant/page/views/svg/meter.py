"""Meters: how much of something is in use. The word beside each says what its colour says."""

from __future__ import annotations

from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import percent, short_number
from mud_assistant.assistant.page.views.svg.frame import at, drawing

#: Parts of the context window at which compaction is due, and at which it can wait no longer.
_WARN, _DANGER = 0.70, 0.85


def meter(title: str, part: float, *, warn: float = _WARN, danger: float = _DANGER, height: int = 6) -> Element:
    """Return a bar that fills with `part` of one: quiet below `warn`, then amber, from `danger` on red."""
    tone = "ok" if part < warn else "warn" if part < danger else "danger"
    mid = height / 2
    marks = [
        h("line", x1=at(mark), x2=at(mark), y1="0", y2=str(height), class_="mark-line")
        for mark in (warn, danger)
        if mark < 1
    ]
    return drawing(
        title,
        f"{percent(part)} in use.",
        height,
        h("rect", width="100%", height=str(height), rx=f"{mid}", class_="track"),
        h("rect", width=at(part), height=str(height), rx=f"{mid}", class_=f"level {tone}"),
        marks,
        class_="meter",
    )


def context_meter(part: float | None, tokens: int | None = None) -> Element:
    """Return how much of the context window is in use: fine below 70 %, then a warning, from 85 % on too much."""
    if part is None:
        return h("span", "not running", class_="quiet")
    word = "" if part < _WARN else ", filling" if part < _DANGER else ", nearly full"
    told = f"{short_number(tokens)} tokens" if tokens is not None else None
    note = h("span", percent(part) + word, class_="note", title=told)
    return h("span", note, meter("Context window", part), class_="metered")


def limit_meter(title: str, used: float, limit: float | None) -> Element | None:
    """Return how much of a limit is used; nothing where there is no limit."""
    if not limit or limit <= 0:
        return None
    return meter(title, used / limit, warn=0.8, danger=0.95)
