"""Conversations recorded from running servers, and what becomes of their bytes in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

FOLDER = Path(__file__).parents[4].parent / "shared/data/telnet"
PATHS = sorted(FOLDER.glob("*.jsonl"))


@dataclass(frozen=True)
class Sent:
    """Bytes of one side, and the seconds since the beginning."""

    at: float
    by_server: bool
    data: bytes


@dataclass(frozen=True)
class Recording:
    """One conversation."""

    name: str
    meta: dict[str, Any]
    sent: tuple[Sent, ...]

    @property
    def heard(self) -> tuple[bytes, ...]:
        """What the server sent, in the pieces in which it came."""
        return tuple(each.data for each in self.sent if each.by_server)


def load(name: str) -> Recording:
    """Read a recording; the test is skipped where it is not at hand."""
    path = FOLDER / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"the recorded conversation {name} is not at hand")
    meta, *rows = map(json.loads, path.read_text().splitlines())
    sent = (Sent(row["t"], row["from"] == "server", row["bytes"].encode("latin-1")) for row in rows if "bytes" in row)
    return Recording(name, meta["meta"], tuple(sent))


def every() -> list[Any]:
    """Return a parameter for each recording; one that skips where there are none."""
    if PATHS:
        return [pytest.param(path.stem, id=path.stem) for path in PATHS]
    return [pytest.param("", marks=pytest.mark.skip(reason="no recorded conversations are at hand"))]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """Cut bytes in pieces of one size."""
    return (data[at : at + size] for at in range(0, len(data), size))


def at_random(data: bytes, dice: Random) -> Iterator[bytes]:
    """Cut bytes in pieces of 1 to 40."""
    at = 0
    while at < len(data):
        length = dice.randint(1, 40)
        yield data[at : at + length]
        at += length


def ways(data: bytes, seeds: Iterable[int] = range(5)) -> Iterator[Iterator[bytes]]:
    """Yield the ways in which the same bytes are cut."""
    yield from (pieces(data, size) for size in (1, 2, 3, 7))
    yield from (at_random(data, Random(seed)) for seed in seeds)  # noqa: S311  (cuts are no secret)
