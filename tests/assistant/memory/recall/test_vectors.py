from __future__ import annotations

from math import inf, nan
from random import Random

import pytest

from mud_assistant.assistant.memory.recall import Vector, make_vector
from mud_assistant.assistant.memory.recall.vectors import SignTable, compare_vectors, rank_by_meaning, read_vector


def given(values: list[float], model: str = "m") -> Vector:
    vector = make_vector(model, values)
    assert vector is not None
    return vector


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [1.0, nan], [inf, 1.0], [0.1] * 8_193])
def test_numbers_that_mean_nothing_are_refused(values: list[float]) -> None:
    assert make_vector("m", values) is None


def test_cosine_survives_being_stored_as_bytes() -> None:
    chance = Random(1)  # noqa: S311 - the same numbers each time
    first, second = ([chance.gauss(0, 1) for _ in range(384)] for _ in range(2))
    second = [a + 0.8 * b for a, b in zip(first, second, strict=True)]
    exact = (
        sum(a * b for a, b in zip(first, second, strict=True))
        / (sum(a * a for a in first) * sum(b * b for b in second)) ** 0.5
    )
    stored = read_vector("m", given(second).numbers.tobytes())
    assert stored is not None
    assert compare_vectors(given(first), stored) == pytest.approx(exact, abs=0.005)


def test_vectors_of_two_models_or_lengths_are_not_alike() -> None:
    assert compare_vectors(given([1.0, 2.0]), given([1.0, 2.0], "other")) == 0
    assert compare_vectors(given([1.0, 2.0]), given([1.0, 2.0, 3.0])) == 0


def test_signs_find_what_exact_numbers_find() -> None:
    chance = Random(2)  # noqa: S311 - the same numbers each time
    vectors = {row: given([chance.gauss(0, 1) for _ in range(384)]) for row in range(1_000)}
    table = SignTable("m", 384)
    for row, vector in vectors.items():
        table.put(row, row % 3, vector.signs)
    query = given([n + chance.gauss(0, 60) for n in vectors[501].numbers])
    exact = [row for row, _ in rank_by_meaning(query, vectors)]
    near = table.nearest(query.signs, None, 100)
    assert exact[0] == 501 and near[0] == 501  # noqa: PT018 - one statement about one row
    assert set(table.nearest(query.signs, [1], 1_000)) == {row for row in vectors if row % 3 == 1}
    table.remove(501)
    assert 501 not in table.nearest(query.signs, None)
