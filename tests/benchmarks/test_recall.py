from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.recall import main
from benchmarks.recall_worlds import read_time

SHARED = Path(__file__).parents[2].parent / "shared/data/memory"


def scored(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(arguments)
    result: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return status, result


def memory(memory_id: str, who: str, text: str, how: str = "room", **more: object) -> dict[str, object]:
    return {"world": "w", "kind": "memory", "id": memory_id, "at": 60 * int(memory_id[1:]), "heard": how, "who": who,
            "text": text, **more}  # fmt: skip


def question(asker: str, text: str, evidence: list[str], **more: object) -> dict[str, object]:
    return {"world": "w", "kind": "question", "asker": asker, "text": text, "evidence": evidence, **more}


def test_a_small_world_is_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        memory("m1", "ann", "I sleep in the mill."),
        memory("m2", "ann", "From today on I sleep in the tower."),
        memory("m3", "bob", "I buried the chalice.", "whisper"),
        memory("m4", "sage", "Bob buried what Ann seeks.", "reflection", derived_from=["m1", "m3"]),
        memory("m5", "bob", "Herring is cheap."),
        question("cid", "Where does Ann sleep?", ["m2"], stale=["m1"], category="update"),
        question("ann", "What was buried?", [], forbidden=["m3", "m4"], category="other"),
        question("bob", "What did I bury?", ["m3"], category="own"),
        question("", "Who owns a griffin?", [], category="none"),
        {"world": "w", "kind": "forget", "who": "bob", "must_go": ["m3", "m4", "m5"], "must_stay": ["m1", "m2"]},
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, result = scored(capsys, str(path))
    expected = {
        "recall@5": 1.0, "hit@5": 1.0, "leaks": 0, "stale_first": 0.0, "newer_first": 1.0, "none_empty": 1.0,
        "kept_after_forget": 0, "lost_after_forget": 0, "memories": 5, "categories": {"own": 1.0, "update": 1.0},
    }  # fmt: skip
    assert status == 0
    assert {key: result[key] for key in expected} == expected
    assert result["search_p95_ms"] > 0


def test_a_leak_and_a_loss_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        memory("m1", "ann", "The chalice is buried."),
        memory("m2", "bob", "Herring is cheap."),
        question("cid", "Where is the chalice?", [], forbidden=["m1"]),
        {"world": "w", "kind": "forget", "who": "ann", "must_go": ["m2"], "must_stay": ["m1"]},
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, result = scored(capsys, str(path))
    assert (status, result["leaks"], result["kept_after_forget"], result["lost_after_forget"]) == (1, 1, 1, 2)


@pytest.mark.parametrize(
    ("text", "day"), [("March-15-2024", 19797), ("2024-03-15T10:00", 19797), ("1:56 pm on 15 March, 2024", 19797)]
)
def test_dates_are_read(text: str, day: int) -> None:
    assert read_time(text, 0.0) == day * 86_400
    assert read_time(text, day * 86_400 + 7.0) == day * 86_400 + 8.0


@pytest.mark.parametrize(("name", "recall"), [("game-world", 0.58), ("beam-100k-1-4", 0.50)])
def test_shared_worlds_hold(name: str, recall: float, capsys: pytest.CaptureFixture[str]) -> None:
    path = SHARED / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared data are not beside the repository")
    status, result = scored(capsys, str(path))
    assert status == 0
    assert result["recall@5"] >= recall
    assert (result["leaks"], result["kept_after_forget"], result["lost_after_forget"]) == (0, 0, 0)
