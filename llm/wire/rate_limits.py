"""Reads what response headers say of limits and of when to ask again.

Four families are read by their names, from any server: OpenAI's `x-ratelimit-*` with Go durations (also Groq and Azure;
Mistral's `-req-minute`, OpenRouter's bare names), Anthropic's `anthropic-ratelimit-*` with RFC 3339 times,
`retry-after` in seconds or as an HTTP date with its finer `retry-after-ms`, and `x-should-retry`.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError
from mud_assistant.llm.response import RateLimitInfo
from mud_assistant.resilience import ReceivedHeaders

#: A wait of more seconds than this (a week) is a fault of the server, and is ignored.
MAX_WISH_SECONDS = 7 * 24 * 3600.0
#: A bare number above the first counts seconds since 1970; above the second, milliseconds.
_EPOCH, _EPOCH_MS = 1e9, 1e11
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|h|m|s)")
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_CHARS = 64
#: A float has every whole number of so many digits.
_EXACT_DIGITS = 15


class Moment(Struct, frozen=True):
    """When a response came: `now` in clock seconds and, when known, `wall` in seconds since 1970.

    The response's own Date header is preferred to `wall`, so a wrong clock on this side does no harm.
    """

    now: float = 0.0
    wall: float | None = None


def read_rate_limits(headers: Headers, moment: Moment) -> RateLimitInfo | None:
    """Return what these headers say of the limits, or None when they say nothing."""
    came = headers if isinstance(headers, ReceivedHeaders) else ReceivedHeaders(_pairs(headers))
    values = came.by_name()
    read: dict[str, Any] = {}
    for field, is_time, names in _fields_of(frozenset(_PLACES.keys() & values.keys())):
        for name in names:
            said = values[name][0]
            value = _at(said, headers, moment) if is_time else _count(said)
            if value is not None:
                read[field] = value
                break
    return RateLimitInfo(**read) if read else None


def retry_wish(headers: Headers, moment: Moment) -> float | None:
    """Return when the server wants to be asked again, in clock seconds. None when it says nothing sensible.

    It is the first sensible of `retry-after-ms`, `retry-after`, and the resets of the limits that are used up. A 0 is
    ignored (Azure sends `retry-after-ms: 0` beside `retry-after: 1`).
    """
    wall = _wall(headers, moment)
    millis = _number(_value(headers, "retry-after-ms"))
    waits = [millis / 1000 if millis is not None else None, _retry_after(_value(headers, "retry-after"), wall)]
    waits += _used_up(read_rate_limits(headers, moment), moment.now)
    wait = next((wait for wait in waits if wait is not None and 0 < wait <= MAX_WISH_SECONDS), None)
    return None if wait is None else moment.now + wait


def should_retry(headers: Headers) -> bool | None:
    """Return what `x-should-retry` says, which wins over the status. None when it is missing."""
    return {"true": True, "false": False}.get(_value(headers, "x-should-retry").lower())


def apply(error: LLMError, headers: Headers, moment: Moment) -> None:
    """Write into the error of a failed response what its headers ask for. Never call it for a 200."""
    error.retry_at = retry_wish(headers, moment)
    error.should_retry = should_retry(headers)


def seconds_of(duration: str) -> float | None:
    """Return a Go duration (`1m30s`, `2ms`) or a plain number in seconds. None for anything else."""
    text = duration.strip()[:_MAX_CHARS]
    seconds, length = 0.0, 0
    for number, unit in _DURATION_PART.findall(text):
        seconds += float(number) * _UNIT_SECONDS[unit]
        length += len(number) + len(unit)
    return seconds if length and length == len(text) else _number(text)


def _pairs(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, values in headers.getAllRawHeaders() for value in values]


def _names(what: str, of: str) -> list[str]:
    """Return the header names for one quantity, the most specific first."""
    names = [f"x-ratelimit-{what}-{of}", f"anthropic-ratelimit-{of}-{what}"]
    if of == "tokens":
        return [*names, f"anthropic-ratelimit-input-tokens-{what}", f"x-ratelimit-{what}-tokens-minute"]
    return [*names, f"x-ratelimit-{what}-req-minute", f"x-ratelimit-{what}"]


def _places() -> dict[bytes, tuple[str, int]]:
    """Map each header name, in lower case, to its field of RateLimitInfo and its rank for that field."""
    places = {}
    for what, field in (("remaining", "remaining_{}"), ("limit", "limit_{}"), ("reset", "reset_{}_at")):
        for of in ("requests", "tokens"):
            for rank, name in enumerate(_names(what, of)):
                places[name.encode("ascii")] = (field.format(of), rank)
    return places


_PLACES = _places()
#: The fields that hold times.
_TIMES = frozenset({"reset_requests_at", "reset_tokens_at"})


@lru_cache(maxsize=64)
def _fields_of(names: frozenset[bytes]) -> tuple[tuple[str, bool, tuple[bytes, ...]], ...]:
    """Return the fields that these headers tell of: whether each is a time, and its headers, the most specific first.

    A server sends the same ones with every response.
    """
    found: dict[str, list[bytes]] = {}
    for name in sorted(names, key=_PLACES.__getitem__):
        found.setdefault(_PLACES[name][0], []).append(name)
    return tuple((field, field in _TIMES, tuple(of_field)) for field, of_field in found.items())


def _count(said: bytes) -> int | None:
    if len(said) <= _EXACT_DIGITS and said.isdigit():
        return int(said)
    number = _number(_text(said))
    return None if number is None else int(number)


def _at(said: bytes, headers: Headers, moment: Moment) -> float | None:
    """Return when a limit is renewed, in clock seconds."""
    wait = _usual_duration(said) if len(said) <= _MAX_CHARS else None
    if wait is None or wait > MAX_WISH_SECONDS:
        wait = _reset(_text(said), headers, moment)
    return None if wait is None else moment.now + wait


@lru_cache(maxsize=256)
def _usual_duration(said: bytes) -> float | None:
    """Return a duration in seconds, None when it is none. A server says the same few again and again."""
    return seconds_of(_text(said))


def _text(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip()[:_MAX_CHARS]


def _used_up(info: RateLimitInfo | None, now: float) -> list[float | None]:
    """Return the longest wait among the limits with nothing left."""
    if info is None:
        return []
    pairs = [(info.remaining_requests, info.reset_requests_at), (info.remaining_tokens, info.reset_tokens_at)]
    waits = [at - now for left, at in pairs if left == 0 and at is not None]
    return [max(waits)] if waits else []


def _retry_after(value: str, wall: float | None) -> float | None:
    number = _number(value)
    return number if number is not None else _until(_http_date(value), wall)


def _reset(value: str, headers: Headers, moment: Moment) -> float | None:
    """Return the seconds until a reset, given as a duration, a number or a time."""
    seconds = seconds_of(value)
    if seconds is None:
        seconds = _until(_rfc3339(value), _wall(headers, moment))
    elif seconds > _EPOCH:
        seconds = _until(seconds / 1000 if seconds > _EPOCH_MS else seconds, _wall(headers, moment))
    return seconds if seconds is not None and seconds <= MAX_WISH_SECONDS else None


def _until(then: float | None, wall: float | None) -> float | None:
    return None if then is None or wall is None else max(0.0, then - wall)


def _wall(headers: Headers, moment: Moment) -> float | None:
    """Return the time of day at the server, or here when it is not given."""
    told = _http_date(_value(headers, "date"))
    return moment.wall if told is None else told


def _http_date(value: str) -> float | None:
    try:
        when = parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    return None if when is None else _timestamp(when)


def _rfc3339(value: str) -> float | None:
    try:
        return _timestamp(datetime.fromisoformat(value)) if value else None
    except ValueError:
        return None


def _timestamp(when: datetime) -> float | None:
    """Return seconds since 1970. A time without a zone is UTC."""
    try:
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def _number(text: str) -> float | None:
    """Return a finite number that is not negative, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _value(headers: Headers, name: str) -> str:
    return headers.getRawHeaders(name, [""])[0].strip()[:_MAX_CHARS]
