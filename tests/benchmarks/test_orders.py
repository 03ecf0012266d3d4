"""The benchmark of orders: what its lines become, and what it counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.orders import OWN_LINES, PARTS, deeds_of, read_lines, told

PLACE = {
    "kind": "place",
    "place": "hut",
    "name": "Ulla",
    "carried": {"torch": ""},
    "rooms": [{"key": "h", "name": "Hut"}],
}
LINES = [("Torch, please.", ["give"]), ("Sit.", ["emote"]), ("I sat.", []), ("Take five.", [])]


def turn(*acts: dict[str, Any]) -> dict[str, Any]:
    return {"turns": [{"acts": list(acts), "words": [], "seconds": 0.5}]}


def act(tool: str, **arguments: str) -> dict[str, Any]:
    return {"tool": tool, "args": arguments, "ok": True}


def test_orders_found_and_other_lines_obeyed_are_counted(tmp_path: Path) -> None:
    lines = [
        {
            "kind": "line",
            "place": "hut",
            "part": "held",
            "language": "English",
            "people": ["Ivo"],
            "line": line,
            "wanted": to,
        }
        for line, to in LINES
    ]
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join(map(json.dumps, [PLACE, *lines])), encoding="utf-8")
    items = read_lines(path)
    played = [turn(act("give")), turn(act("move")), turn(act("say")), turn(act("execute_command", command="open box"))]
    rows = told(items, dict(zip([item.id for item in items], played, strict=True)))
    assert "held  English         1/2 50%        1/2 50%" in rows


def test_a_command_of_the_game_is_the_deed_it_is_called() -> None:
    assert deeds_of(turn(act("execute_command", command="light the lamp"), act("say"))["turns"][0]) == {"light"}


@pytest.mark.parametrize("part", PARTS)
def test_our_own_lines_have_orders_and_others_in_each_language(part: str) -> None:
    kinds = {(item.category, bool(item.turns[0]["expect"]["deeds"])) for item in read_lines(OWN_LINES, part)}
    languages = ("English", "German", "French", "Spanish")
    assert {(language, is_order) for language in languages for is_order in (True, False)} == kinds
