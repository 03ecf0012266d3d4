"""The filters of the runs: read from an address, written into one, and turned into the query of the desk."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.page.values.runs import RunQuery

#: The outcomes a search can ask for, and what each is called.
OUTCOMES = {
    "answered": "answered",
    "nothing": "nothing to do",
    "limit": "limit reached",
    "failed": "failed",
    "cancelled": "cancelled",
    "open": "still open",
}
#: The most characters of a filter that are looked at.
_MAX_CHARS = 200


class RunFilter(Struct, frozen=True):
    """What a visitor looks for. Days are ISO dates in UTC, both included; a wrong one is kept to be shown again."""

    assistant: str = ""
    player: str = ""
    tool: str = ""
    outcome: str = ""
    text: str = ""
    since: str = ""
    until: str = ""
    before: str = ""

    @property
    def narrows(self) -> bool:
        """Tell whether anything but the place in the list is asked for."""
        return replace(self, before="") != RunFilter()

    @property
    def wrong(self) -> tuple[str, ...]:
        """Say what in the filter cannot be used, a sentence each."""
        found = [
            f"{text} is no day: write it as 2026-03-31. It was left out of the search."
            for text in (self.since, self.until)
            if text and _day(text) is None
        ]
        if self.outcome and self.outcome not in OUTCOMES:
            found.append("There is no such outcome. It was left out of the search.")
        first, last = _day(self.since), _day(self.until)
        if first and last and last < first:
            found.append("The last day is before the first, so nothing can be found.")
        return tuple(found)

    def fields(self) -> dict[str, str]:
        """Return the filters that are set, as the fields of an address, without the place in the list."""
        names = ("assistant", "player", "tool", "outcome", "text", "since", "until")
        return {name: value for name in names if (value := getattr(self, name))}

    def query(self, limit: int = 50) -> RunQuery:
        """Return the query of the desk. What cannot be used is left out."""
        return RunQuery(
            assistant=self.assistant,
            player=self.player,
            tool=self.tool,
            outcome=self.outcome if self.outcome in OUTCOMES else "",
            text=self.text,
            since=_start_of(self.since),
            until=_start_of(self.until, days=1),
            before=self.before,
            limit=limit,
        )


def filter_from(query: Mapping[str, str]) -> RunFilter:
    """Read the filters of an address. Spaces round a value are dropped, long values cut."""
    names = RunFilter.__struct_fields__
    return RunFilter(**{name: query.get(name, "").strip()[:_MAX_CHARS] for name in names})


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _start_of(text: str, days: int = 0) -> float | None:
    """Return when a day begins, or the one `days` after it, in seconds since 1970; None for what is no day."""
    day = _day(text)
    if day is None or day.year < 1971 or day.year > 9000:  # noqa: PLR2004  (what a clock can hold everywhere)
        return None
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=days)).timestamp()
