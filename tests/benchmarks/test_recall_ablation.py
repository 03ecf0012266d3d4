"""Vectors never find less than words, on any set, and each part of a search is good for something."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.recall import main
from benchmarks.recall_ablation import PARTS, leave_out, recall_of, sets_of, stand_in
from benchmarks.recall_vectors import MODEL_FILE, open_embedder
from benchmarks.recall_worlds import Row
from mud_assistant.assistant.memory.recall.search import LISTS, ORDERS
from mud_assistant.llm.embedded.fetching.models import default_data_dir

SHARED = Path(__file__).parents[2].parent / "shared/data/memory"
SETS = ("talk", "village", "game-world", "beam-100k-1-4", "beam-100k-1-4, in turns")
Asked = Callable[[str], list[Row]]


@pytest.fixture(scope="module")
def rows_of() -> Asked:
    shared = [str(path) for name in SETS if (path := SHARED / f"{name}.jsonl").exists()]
    known = sets_of(["talk", "village", *shared])

    def find(name: str) -> list[Row]:
        if name not in known:
            pytest.skip("the shared data are not beside the repository")
        return known[name]

    return find


@pytest.mark.parametrize("name", ["talk", "village", "beam-100k-1-4, in turns"])
def test_vectors_that_know_no_more_than_words_find_no_less(name: str, rows_of: Asked, tmp_path: Path) -> None:
    [(_, words, vectors)] = leave_out(rows_of(name), tmp_path / "x.recall", stand_in, ("",))
    assert vectors is not None
    assert recall_of(vectors) >= recall_of(words)
    assert vectors.leaks == words.leaks == 0


# The village's vectors take as long as those of the two together: `python -m benchmarks.recall --ablate` has them too.
@pytest.mark.parametrize("name", ["talk", "game-world"])
def test_the_embedded_models_vectors_find_no_less_than_words(name: str, rows_of: Asked, tmp_path: Path) -> None:
    if not (default_data_dir() / MODEL_FILE).exists():
        pytest.skip("the embedding model was not fetched")
    with open_embedder("") as embed:
        assert embed is not None
        [(_, words, vectors)] = leave_out(rows_of(name), tmp_path / "x.recall", embed, ("",))
    assert vectors is not None
    assert recall_of(vectors) >= recall_of(words)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("talk", ["alone", "answers", "beside", "favours"]),
        ("village", ["others", "spread"]),
        ("game-world", ["people", "later", "newer"]),
    ],
)
def test_each_part_is_good_for_something(name: str, parts: list[str], rows_of: Asked, tmp_path: Path) -> None:
    whole, *without = leave_out(rows_of(name), tmp_path / "x.recall", stand_in, ("", *parts))
    for _, *less in without:
        pairs = [(all_of_it, other) for all_of_it, other in zip(whole[1:], less, strict=True) if all_of_it and other]
        finds = any(recall_of(all_of_it) > recall_of(other) for all_of_it, other in pairs)
        assert finds or any(sum(all_of_it.newer_first) > sum(other.newer_first) for all_of_it, other in pairs)


def test_every_part_is_measured() -> None:
    assert {*LISTS, *ORDERS} == set(PARTS) - {""}


def test_it_says_what_each_part_is_good_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = '{"world": "w", "kind": "memory", "id": "m1", "at": 60, "heard": "room", "who": "a", "text": "I keep bees."}'
    asked = '{"world": "w", "kind": "question", "asker": "bob", "text": "Who keeps bees?", "evidence": ["m1"]}'
    file = tmp_path / "w.jsonl"
    file.write_text(f"{line}\n{asked}\n")
    assert main(["--ablate", str(file)]) == 0
    first, whole, *parts, result = capsys.readouterr().out.splitlines()
    assert first.split() == ["left", "out", "w"]
    assert whole.split() == ["nothing", "100.0"]
    assert [line.split() for line in parts] == [[part, "+0.0"] for part in PARTS[1:]]
    assert json.loads(result)["w"]["all"] == [1.0]
