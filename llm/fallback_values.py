"""The JSON value that stands at one place of a text, when the text may end before it does."""

from __future__ import annotations

from dataclasses import dataclass

from llm.fallback_tokens import Budget, Ending, Scan, UnreadableJSON, scan_value
from llm.json_repair import Parsed, decode_scan
from llm.messages import JSON


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the offset behind it. `cut`: the text breaks it off, so that it must not be used."""

    value: JSON
    end: int
    repaired: bool = False
    cut: bool = False


def value_at(text: str, at: int, budget: Budget, *, complete: bool) -> Value | None:
    """The object or list whose bracket stands at `at`; None when it cannot be read."""
    if at < budget.deep_until:
        return None
    scan = scan_value(text, at, budget)
    parsed = read_scan(scan, budget)
    if parsed is None:
        return None
    return Value(parsed.value, scan.end, parsed.repaired, cut=is_cut(scan, complete=complete))


def read_scan(scan: Scan, budget: Budget) -> Parsed | None:
    """The value of a scan, of its beginning when the text ends before it does; None when it is not JSON."""
    if scan.ending is Ending.UNCLOSED:
        budget.spend(scan.end - scan.start)
    try:
        return decode_scan(scan, close=True)
    except UnreadableJSON:
        return None


def is_cut(scan: Scan, *, complete: bool) -> bool:
    """Whether the text breaks the value off: it is open, and was cut or holds what should stand behind it."""
    return scan.ending is Ending.UNCLOSED and (not complete or _swallows(scan))


def _swallows(scan: Scan) -> bool:
    """Whether the value ends in a string so open that it holds what should stand behind it."""
    return any(mark in scan.open_text for mark in "}\n")
