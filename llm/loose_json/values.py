"""Reads the JSON value at one place of a text that may end before the value does."""

from __future__ import annotations

from dataclasses import dataclass

from llm.loose_json.repair import Parsed, decode_scan
from llm.loose_json.tokens import Ending, Scan, UnreadableJSON, WorkBudget, scan_value
from llm.messages import JSON


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the offset after it. `cut`: the text breaks it off, so it must not be used."""

    value: JSON
    end: int
    repaired: bool = False
    cut: bool = False


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


def _swallows(scan: Scan) -> bool:
    """Tell whether the value ends in an unclosed string that holds what should follow the value."""
    return any(mark in scan.open_text for mark in "}\n")
