"""What an embedder is, and which vectors are good ones.

A vector says what a text means: texts of like meaning have vectors whose product is near 1. Only vectors of the same
model can be compared, so the model's name belongs to each vector that is kept.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Protocol

from twisted.internet.defer import Deferred

from mud_assistant.llm.errors import BadVectors
from mud_assistant.resilience import Caller

#: How many texts are sent in one request.
MAX_BATCH = 32
#: Who asks when nobody else is named.
MEMORY = Caller("memory", is_urgent=False)
#: A vector shorter than this says nothing; it would be all rounding.
_LEAST_NORM = 1e-9

Vector = tuple[float, ...]


class Embedder(Protocol):
    """A maker of sentence vectors."""

    @property
    def model(self) -> str:
        """The name and version of the model. It belongs to each vector that is kept."""
        ...

    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has, None until the first one has come."""
        ...

    async def embed(self, texts: Sequence[str], caller: Caller = MEMORY) -> list[Vector]:
        """Return the vector of each text, of length 1, in the order of the texts.

        A blank text is not sent; its vector is empty. Texts are cut to what the model reads. `caller` says on whose
        behalf. Raises LLMError; cancelling closes the connection.
        """
        ...

    def stop(self) -> Deferred[None]:
        """Stop what runs for it; fires when it has ended. A later `embed` starts it again."""
        ...


def unit_vectors(rows: Sequence[Iterable[float]], texts: int, dimensions: int | None) -> list[Vector]:
    """Return the vectors with the length 1. `dimensions` is the number of numbers each must have, None for any.

    Raises BadVectors when one is missing, has another length, holds what is no finite number, or is all zeros.
    """
    if len(rows) != texts:
        raise BadVectors(f"sent {len(rows)} vectors for {texts} texts")
    vectors = []
    for row in rows:
        vector = _unit(row)
        if dimensions is None:
            dimensions = len(vector)
        if len(vector) != dimensions:
            raise BadVectors(f"sent a vector of {len(vector)} numbers where {dimensions} were expected")
        vectors.append(vector)
    return vectors


def _unit(row: Iterable[float]) -> Vector:
    try:
        numbers = row if isinstance(row, array) else array("d", row)
    except (TypeError, OverflowError) as error:
        raise BadVectors("sent a vector with something in it that is no number") from error
    norm = math.hypot(*numbers)
    if not math.isfinite(norm):
        raise BadVectors("sent a vector with a number in it that is not finite (NaN or infinity)")
    if norm < _LEAST_NORM:
        raise BadVectors("sent a vector of zeros" if numbers else "sent a vector without numbers")
    return tuple(number / norm for number in numbers)
