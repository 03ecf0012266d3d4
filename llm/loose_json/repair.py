"""Reads one JSON value out of a model's text, and repairs what models commonly get wrong.

The text may end before the value does. Bounds: 256 KiB of text, 64 levels, integers of 64 bits, finite numbers. Of
equal keys the last one wins, as in json.loads. NUL and lone surrogates in strings become U+FFFD.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from mud_assistant.llm.loose_json.rewrite import rewrite
from mud_assistant.llm.loose_json.tokens import MAX_DEPTH, Ending, Scan, UnreadableJSON, WorkBudget, scan_value
from mud_assistant.llm.messages import JSON

__all__ = [
    "MAX_CHARS",
    "Parsed",
    "ParsedArguments",
    "UnreadableJSON",
    "clean_json",
    "clean_text",
    "decode_scan",
    "holds_nothing",
    "parse_arguments",
    "parse_value",
    "read_arguments",
]
#: The longest text that a value is read from, in characters.
MAX_CHARS = 256 * 1024
_MAX_DIGITS = 20
_SMALLEST, _BIGGEST = -(2**63), 2**64 - 1
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
_NOT_BLANK = re.compile(r"\S")
_NOTHING = re.compile(r"(?:\s|\{\s*\}|\[\s*\]|\"\"|null)*")


class Parsed(Struct, frozen=True):
    """A value, the offset after it, and whether it was JSON only after a repair."""

    value: JSON
    end: int
    repaired: bool = False


class ParsedArguments(Struct, frozen=True):
    """The arguments of a native tool call. `rest` is what followed the first value and was left out."""

    value: dict[str, JSON] = field(default_factory=dict)
    problem: str = ""
    rest: str = ""


class Value(Struct, frozen=True):
    """A value and the offset after it. `cut`: the text breaks it off, so it must not be used."""

    value: JSON
    end: int
    repaired: bool = False
    cut: bool = False


def parse_value(text: str, start: int = 0, *, complete: bool) -> Parsed:
    """Return the first JSON value at or after `start`, skipping blanks. Raises UnreadableJSON.

    A value still open at the end of the text is closed only if the text is `complete`: its stream ended normally.
    """
    if len(text) - start > MAX_CHARS:
        raise UnreadableJSON(f"more than {MAX_CHARS} characters")
    first = _NOT_BLANK.search(text, start)
    if first is None:
        raise UnreadableJSON("there is nothing")
    at = first.start()
    if text.count("{", at) + text.count("[", at) <= MAX_DEPTH:
        for decoder in (_STRICT, _LOOSE):
            try:
                value, end = decoder.raw_decode(text, at)
            except ValueError:
                continue
            return Parsed(clean_json(value), end, repaired=decoder is _LOOSE)
    if text[at] not in "{[":
        raise UnreadableJSON("not JSON")
    return decode_scan(scan_value(text, at, WorkBudget(len(text))), close=complete)


def value_at(text: str, at: int, budget: WorkBudget, *, complete: bool) -> Value | None:
    """Return the object or list whose bracket is at `at`, or None when it cannot be read."""
    if at < budget.deep_until:
        return None
    scan = scan_value(text, at, budget)
    parsed = read_scan(scan, budget)
    if parsed is None:
        return None
    return Value(parsed.value, scan.end, parsed.repaired, cut=is_cut(scan, complete=complete))


def read_scan(scan: Scan, budget: WorkBudget) -> Parsed | None:
    """Return the value of a scan, or None when it is not JSON.

    When the text ends before the value does, its beginning is read.
    """
    if scan.ending is Ending.UNCLOSED:
        budget.spend(scan.end - scan.start)
    try:
        return decode_scan(scan, close=True)
    except UnreadableJSON:
        return None


def is_cut(scan: Scan, *, complete: bool) -> bool:
    """Tell whether the text breaks the value off: it is open, and was cut or holds what should follow it."""
    return scan.ending is Ending.UNCLOSED and (not complete or _swallows(scan))


def decode_scan(scan: Scan, *, close: bool) -> Parsed:
    """Decode a scan by the first reading that works: strict, with line breaks in strings, or repaired.

    Raises UnreadableJSON. An unclosed value is closed only with `close`.
    """
    if scan.ending is Ending.CLOSED:
        for decoder in (_STRICT, _LOOSE):
            try:
                return Parsed(clean_json(decoder.decode(scan.source)), scan.end, repaired=decoder is _LOOSE)
            except ValueError:
                continue
    elif scan.ending is not Ending.UNCLOSED:
        raise UnreadableJSON(scan.ending.value)
    elif close and not scan.open_text:
        try:
            closed = scan.source.rstrip(" \t\r\n,") + "".join(reversed(scan.closers))
            return Parsed(clean_json(_LOOSE.decode(closed)), scan.end, repaired=True)
        except ValueError:
            pass
    repaired = rewrite(scan.tokens, close=close)
    try:
        return Parsed(clean_json(_LOOSE.decode(repaired)), scan.end, repaired=True)
    except ValueError as error:
        raise UnreadableJSON(str(error) if isinstance(error, UnreadableJSON) else "not JSON") from error


def holds_nothing(raw: str) -> bool:
    """Tell whether there are no arguments at all. Some servers send an empty value with each piece."""
    return _NOTHING.fullmatch(raw) is not None


def parse_arguments(raw: str | Mapping[str, JSON] | None, *, complete: bool) -> tuple[dict[str, JSON], str]:
    """Return the arguments of a native tool call, and a sentence that says why they cannot be used, if so."""
    arguments = read_arguments(raw, complete=complete)
    return arguments.value, arguments.problem


def read_arguments(raw: str | Mapping[str, JSON] | None, *, complete: bool) -> ParsedArguments:
    """Read the arguments of a native tool call, with what was left out.

    `complete` is False when the model was stopped by its token limit. Then what is not closed is never used.
    """
    if isinstance(raw, Mapping):
        return _object_arguments(raw)
    if not (raw or "").strip() and not complete:
        return ParsedArguments(problem="arguments truncated")
    if raw is None or not raw.strip():
        return ParsedArguments()
    try:
        parsed = parse_value(raw, complete=complete)
        value = parsed.value
        if isinstance(value, str):
            value = parse_value(value, complete=complete).value
    except UnreadableJSON as error:
        return ParsedArguments(problem=f"arguments unreadable: {error}" if complete else "arguments truncated")
    if value is None:
        return ParsedArguments()
    if not isinstance(value, dict):
        return ParsedArguments(problem="arguments must be a JSON object")
    return ParsedArguments(value, rest=raw[parsed.end :].strip())


def _object_arguments(raw: Mapping[str, JSON]) -> ParsedArguments:
    try:
        value = clean_json(raw)
    except UnreadableJSON as error:
        return ParsedArguments(problem=f"arguments unreadable: {error}")
    return ParsedArguments(value) if isinstance(value, dict) else ParsedArguments()


def clean_text(text: str) -> str:
    """Return the text with U+FFFD in place of NUL and lone surrogates."""
    return _UNSPEAKABLE.sub("\ufffd", text)


def clean_json(value: Any, depth: int = 0) -> JSON:
    """Return the value, bounded and with clean strings. Raises UnreadableJSON for one that JSON cannot hold."""
    if depth > MAX_DEPTH:
        raise UnreadableJSON(Ending.TOO_DEEP.value)
    match value:
        case str():
            return clean_text(value)
        case bool() | None:
            return value
        case int():
            return _bound(value)
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return {clean_text(str(key)): clean_json(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [clean_json(item, depth + 1) for item in value]
        case _:
            raise UnreadableJSON(f"a {type(value).__name__} that JSON does not have")


def _swallows(scan: Scan) -> bool:
    """Tell whether the value ends in an unclosed string that holds what should follow the value."""
    return any(mark in scan.open_text for mark in "}\n")


def _bound(number: int) -> int:
    if not _SMALLEST <= number <= _BIGGEST:
        raise UnreadableJSON("a number is too big")
    return number


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise UnreadableJSON("a number is too big")
    return _bound(int(digits))


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise UnreadableJSON("a number is too big")
    return number


def _refuse(constant: str) -> None:
    raise UnreadableJSON(f"{constant} is not a JSON number")


_STRICT = json.JSONDecoder(parse_int=_integer, parse_float=_real, parse_constant=_refuse)


_LOOSE = json.JSONDecoder(parse_int=_integer, parse_float=_real, parse_constant=_refuse, strict=False)
