"""Reads the words of a line that name a time: "yesterday", "two days ago", "on Friday", "on 12 May". Pure.

Days are those of the owner's time zone. It knows English only. A line that looks back gets the range it means; one that
looks forward gets the time from which what it tells of is over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from msgspec import Struct

_DAY, _HOUR = 86_400.0, 3600.0
_WEEK, _MONTH = 7 * _DAY, 30 * _DAY
_NUMBER_TEXT = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_TEXT.split(), 1)} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 3,
    "several": 4,
    "fortnight": 1,
}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})(?: of)?"
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH_TEXT = "january february march april may june july august september october november december"
_MONTHS = tuple(_MONTH_TEXT.split())
_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAY_NAMES)})"
_MONTH_NAME = rf"(?P<month>{'|'.join(_MONTHS)})"
_PART = r"(?: (?P<part>morning|noon|afternoon|evening|night))?"
#: The hours of the parts of a day.
_HOURS = {"morning": (4, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (16, 24), "night": (17, 29)}
_UNIT_SECONDS = {"minute": 60.0, "hour": _HOUR, "day": _DAY, "week": _WEEK, "fortnight": 2 * _WEEK, "month": _MONTH}
_UNIT = r"(?P<unit>minute|hour|day|week|fortnight|month)s?"


class TimeSpan(Struct, frozen=True):
    """A range of time, in seconds since 1970, and the words that named it."""

    since: float
    until: float
    words: str


class _Now(Struct, frozen=True):
    """The time of a line, and what the owner's time is ahead of UTC, both in seconds."""

    at: float
    offset: float

    def day(self, days: int = 0) -> float:
        """Return when the day so many days from now began."""
        local = self.at + self.offset
        return local - local % _DAY - self.offset + days * _DAY

    @property
    def date(self) -> datetime:
        return datetime.fromtimestamp(self.at + self.offset, UTC)


_Found = re.Match[str]
_Make = Callable[[_Found, _Now], tuple[float, float] | None]


def find_past(text: str, now: float, offset: float = 0.0) -> TimeSpan | None:
    """Return the time before now that a line means, None when it names none. `offset` is local time minus UTC."""
    return _find(_PAST, text, _Now(now, offset))


def find_time_asked(text: str, now: float, offset: float = 0.0) -> TimeSpan | None:
    """Return the time before now of which a line wants to be told something; None for a line that only names one."""
    return find_past(text, now, offset) if _ASKS.search(text) else None


def find_future(text: str, now: float, offset: float = 0.0) -> TimeSpan | None:
    """Return the time after now that a line means, None when it names none. `offset` is local time minus UTC."""
    return _find(_FUTURE, text, _Now(now, offset))


def _find(rules: tuple[tuple[re.Pattern[str], _Make], ...], text: str, now: _Now) -> TimeSpan | None:
    straight = " ".join(text.casefold().replace("\u2019", "'").split())
    for pattern, make in rules:
        for found in pattern.finditer(straight):
            if (span := make(found, now)) is not None:
                return TimeSpan(*span, found[0].strip())
    return None


def _part_of_day(found: _Found, begin: float) -> tuple[float, float]:
    part = found.groupdict().get("part")
    first, last = _HOURS[part] if part else (0, 24)
    return begin + first * _HOUR, begin + last * _HOUR


def _days_from_now(days: int) -> _Make:
    return lambda found, now: _part_of_day(found, now.day(days))


def _count(found: _Found) -> int:
    words = found["count"]
    return int(words) if words.isdigit() else _NUMBERS[words]


def _ago(found: _Found, now: _Now) -> tuple[float, float]:
    count, unit = _count(found), found["unit"]
    if unit == "day":
        days = {"few": (5, 2), "several": (8, 3), "couple": (3, 1)}.get(found["count"], (count, count))
        return now.day(-days[0]), now.day(-days[1] + 1)
    middle, spread = now.at - count * _UNIT_SECONDS[unit], _UNIT_SECONDS[unit] * 0.4
    since, until = middle - spread * (2 if found["count"] in {"few", "several"} else 1), middle + spread
    if unit in {"minute", "hour"}:
        return since, min(until, now.at)
    return since, until + _DAY / 2


def _within(found: _Found, now: _Now) -> tuple[float, float]:
    groups = found.groupdict()
    count = _count(found) if groups.get("count") else 1
    days = count * _UNIT_SECONDS[groups["unit"]]
    return now.at - days - (_DAY / 2 if days >= _DAY else 0.0), now.at


def _recent(days: float) -> _Make:
    return lambda _, now: (now.at - days * _DAY, now.at)


def _last_week(_: _Found, now: _Now) -> tuple[float, float]:
    monday = -now.date.weekday()
    return now.day(monday - 7), max(now.day(monday), now.day(-3))


def _this_week(_: _Found, now: _Now) -> tuple[float, float]:
    return now.day(-now.date.weekday()), now.at


def _last_month(_: _Found, now: _Now) -> tuple[float, float]:
    return now.day(-62 if now.date.day > 15 else -45), now.day(-now.date.day + 1)  # noqa: PLR2004  (half a month)


def _last_weekday(found: _Found, now: _Now) -> tuple[float, float]:
    back = (now.date.weekday() - _DAY_NAMES.index(found["weekday"])) % 7 or 7
    since, until = _part_of_day(found, now.day(-back))
    return since, now.at if found[0].startswith("since") else until


def _next_weekday(found: _Found, now: _Now) -> tuple[float, float]:
    ahead = (_DAY_NAMES.index(found["weekday"]) - now.date.weekday()) % 7 or 7
    return _part_of_day(found, now.day(ahead))


def _on_date(found: _Found, now: _Now, *, is_past: bool) -> tuple[float, float] | None:
    groups = found.groupdict()
    name = groups.get("month") or ""
    month = _MONTHS.index(name) + 1 if name in _MONTHS else int(groups.get("number") or now.date.month)
    try:
        date = datetime(int(groups.get("year") or now.date.year), month, int(found["day"]), tzinfo=UTC)
        if not groups.get("year") and (date.date() > now.date.date()) is is_past and date.date() != now.date.date():
            step = -1 if is_past else 1
            date = date.replace(year=date.year + step) if name else _other_month(date, step)
    except ValueError:
        return None
    begin = date.timestamp() - now.offset
    return begin, begin + _DAY


def _other_month(date: datetime, step: int) -> datetime:
    """Return the same day of the month before or after. Raises ValueError when that has no such day."""
    first = date.replace(day=1)
    other = first - timedelta(days=1) if step < 0 else first + timedelta(days=31)
    return other.replace(day=date.day)


def _date_before(found: _Found, now: _Now) -> tuple[float, float] | None:
    return _on_date(found, now, is_past=True)


def _date_after(found: _Found, now: _Now) -> tuple[float, float] | None:
    return _on_date(found, now, is_past=False)


def _ahead(found: _Found, now: _Now) -> tuple[float, float]:
    seconds = _count(found) * _UNIT_SECONDS[found["unit"]]
    return now.at, now.at + seconds if seconds < _DAY else now.day(int(seconds // _DAY) + 1)


def _until(days: int) -> _Make:
    return lambda _, now: (now.at, now.day(days))


def _next_week(_: _Found, now: _Now) -> tuple[float, float]:
    return now.at, now.day(14 - now.date.weekday())


def _this_weekend(_: _Found, now: _Now) -> tuple[float, float]:
    return now.at, now.day(7 - now.date.weekday())


def _rules(*rules: tuple[str, _Make]) -> tuple[tuple[re.Pattern[str], _Make], ...]:
    return tuple((re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), make) for pattern, make in rules)


_DATES = (
    r"(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})",
    rf"(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH_NAME}(?:,? (?P<year>\d{{4}}))?",
    rf"(?:on )?{_MONTH_NAME}(?: the)? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?",
    r"on the (?P<day>\d{1,2})(?:st|nd|rd|th)",
)
_ASKS = re.compile(
    r"\?|\b(?:what|who|when|where|which|said|told|talked|spoke|happened|mentioned|remember|recall)\b", re.IGNORECASE
)
_PAST = _rules(
    (rf"(?:the )?day before yesterday{_PART}", _days_from_now(-2)),
    (rf"yesterday{_PART}", _days_from_now(-1)),
    (r"last (?P<part>night|evening)", _days_from_now(-1)),
    (rf"{_COUNT} {_UNIT} ago", _ago),
    (r"(?P<count>a|one) (?P<unit>week) (?:before|back)", _ago),
    (rf"(?:in|over|during|within|for) the (?:last|past) {_COUNT} {_UNIT}", _within),
    (r"(?:in|over|during|within) the (?:last|past) (?P<unit>hour|day|week|month)", _within),
    (r"(?:earlier )?this (?P<part>morning|afternoon|evening)|earlier today|today|tonight", _days_from_now(0)),
    (rf"(?:last|this past|on|since) {_WEEKDAY}{_PART}", _last_weekday),
    (r"(?:last|the week before)(?: week)", _last_week),
    (r"(?:earlier )?this week", _this_week),
    (r"last month", _last_month),
    *((pattern, _date_before) for pattern in _DATES),
    (r"the other day", _recent(8)),
    (r"lately|recently|newest|these days|of late", _recent(7)),
    (r"just now|a moment ago|a minute ago|a little while ago", _recent(1 / 24)),
)
_FUTURE = _rules(
    (rf"(?:the )?day after tomorrow{_PART}", _days_from_now(2)),
    (rf"tomorrow{_PART}", _days_from_now(1)),
    (r"today|this (?:morning|noon|afternoon|evening)", _days_from_now(0)),
    (r"tonight|this (?P<part>night)", _days_from_now(0)),
    (rf"(?:in|within) {_COUNT} {_UNIT}(?:'s? time)?", _ahead),
    (rf"(?:on|next|this|by|until|before|come) {_WEEKDAY}{_PART}", _next_weekday),
    (r"(?:this|at the|on the) weekend", _this_weekend),
    (r"(?:in the |early |late )?next week", _next_week),
    (r"(?:in the |early |late )?next month", _until(60)),
    *((pattern, _date_after) for pattern in _DATES),
    (r"soon|later|shortly|one of these days", _until(3)),
)
