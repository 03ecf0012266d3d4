"""A period of days: a quick choice, or two days of the visitor's own. Its name stays in the address, not its days."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from msgspec import Struct

#: The quick choices, and what each is called.
PERIODS = {"month": "This month", "last_month": "Last month", "week": "7 days", "30_days": "30 days"}
_LENGTHS = {"week": 7, "30_days": 30}


class Period(Struct, frozen=True):
    """A quick choice by its key, or the days `since` to `until` as they were typed."""

    key: str = "month"
    since: str = ""
    until: str = ""

    @property
    def is_own(self) -> bool:
        """Tell whether days were typed."""
        return bool(self.since or self.until)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Say what was typed and cannot be used; this month is shown then."""
        for text in (self.since, self.until):
            if text and _day(text) is None:
                return (f"{text} is no day: write it as 2026-03-31. This month is shown.",)
        first, last = _day(self.since), _day(self.until)
        if first and last and last < first:
            return ("The last day is before the first. This month is shown.",)
        return ()

    def fields(self) -> dict[str, str]:
        """Return the period as fields of an address; empty ones mean nothing."""
        key = "" if self.is_own or self.key == "month" else self.key
        return {"period": key, "from": self.since, "to": self.until}

    def days(self, today: str) -> tuple[str, str]:
        """Return the first and last day as ISO dates, seen from `today`; empty ones for the present month."""
        now = date.fromisoformat(today)
        if self.is_own and not self.wrong:
            last = _day(self.until) or now
            first = _day(self.since) or last.replace(day=1)
            return first.isoformat(), max(first, last).isoformat()
        if self.key == "last_month":
            end = now.replace(day=1) - timedelta(days=1)
            return end.replace(day=1).isoformat(), end.isoformat()
        if self.key in _LENGTHS:
            return (now - timedelta(days=_LENGTHS[self.key] - 1)).isoformat(), now.isoformat()
        return "", ""


def period_from(query: Mapping[str, str]) -> Period:
    """Read a period from an address. Days that were typed count before a quick choice."""
    since, until, key = (query.get(name, "").strip()[:40] for name in ("from", "to", "period"))
    return Period(key if key in PERIODS and not (since or until) else "month", since, until)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
