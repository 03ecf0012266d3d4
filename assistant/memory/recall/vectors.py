"""Sentence vectors without a library: the signs as one number, the values as bytes.

A vector is scaled to length 1 and kept as whole numbers from -127 to 127. Its signs, one bit each, find the nearest by
the count of bits that differ; the numbers then put those in order.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

#: How many of those nearest by sign are compared by their numbers.
COMPARED = 120
_FULL = 127
#: The longest vector that is taken.
MAX_NUMBERS = 8192
#: Room for a row's number below a distance, so that one number sorts by both.
_ROW_BITS = 48


class Vector(Struct, frozen=True, weakref=True):
    """What a text means to one model. `numbers` are signed bytes; `length` is the root of the sum of their squares."""

    model: str
    numbers: array[int]
    length: float

    @property
    def signs(self) -> int:
        """Return one bit for each number, 1 where it is over 0."""
        return int("".join("1" if number > 0 else "0" for number in self.numbers), 2)


def make_vector(model: str, values: Sequence[float]) -> Vector | None:
    """Return the numbers an embedding model gave as a vector, or None when they mean nothing.

    That is: none at all or too many, one that is not finite, or all of them 0.
    """
    if not 0 < len(values) <= MAX_NUMBERS or not all(map(math.isfinite, values)):
        return None
    most = max(map(abs, values))
    if most == 0:
        return None
    scale = _FULL / most
    return read_vector(model, array("b", [round(value * scale) for value in values]).tobytes())


def read_vector(model: str, data: bytes) -> Vector | None:
    """Return a stored vector (the bytes of `numbers`), or None when it means nothing."""
    numbers = array("b", data)
    length = math.hypot(*numbers)
    return Vector(model, numbers, length) if length else None


def compare_vectors(first: Vector, second: Vector) -> float:
    """Return the cosine of two vectors, 0 when they are not of one model or of one length."""
    if first.model != second.model or len(first.numbers) != len(second.numbers):
        return 0.0
    # The dot product from the distance: C code does the work.
    apart = math.dist(first.numbers, second.numbers)
    return (first.length**2 + second.length**2 - apart**2) / (2 * first.length * second.length)


@dataclass(slots=True)
class SignTable:
    """The signs of all vectors of one model, by the audience of their rows. `size` is the numbers of a vector.

    It is what a search by meaning runs over: 76 bytes a row, held in memory.
    """

    model: str
    size: int
    _rows: dict[int, dict[int, int]] = field(default_factory=dict)
    _audiences: dict[int, int] = field(default_factory=dict)

    def put(self, row: int, audience: int, signs: int) -> None:
        """Add a row, or replace it."""
        self.remove(row)
        self._rows.setdefault(audience, {})[row] = signs
        self._audiences[row] = audience

    def remove(self, row: int) -> None:
        """Take a row out. No effect when it is not there."""
        audience = self._audiences.pop(row, None)
        if audience is not None:
            del self._rows[audience][row]
            if not self._rows[audience]:
                del self._rows[audience]

    def nearest(self, signs: int, audiences: Iterable[int] | None, most: int = COMPARED) -> list[int]:
        """Return the rows nearest by sign, best first, among these audiences; None is all of them."""
        groups = self._rows.values() if audiences is None else (self._rows.get(key, {}) for key in set(audiences))
        found = [(signs ^ other).bit_count() << _ROW_BITS | row for group in groups for row, other in group.items()]
        return [key & (1 << _ROW_BITS) - 1 for key in heapq.nsmallest(most, found)]


def rank_by_meaning(query: Vector, vectors: Mapping[int, Vector]) -> list[tuple[int, float]]:
    """Return the rows with the cosine of their vectors to the query's, best first."""
    scored = [(row, compare_vectors(query, vector)) for row, vector in vectors.items()]
    return sorted(scored, key=lambda item: (-item[1], -item[0]))
