"""The fallback over recorded outputs of small models.

A call is *false* when the model wrote none: the raw text has no brace, or the call's name is not, up to the spelling
that match_name forgives, the value of a name key in the raw text, or its arguments hold a text that the raw text does
not. There must be none. A wanted call is *found* when a call of the row's wanted tool comes back without a problem.
What is reachable is counted here without the code under test: rows with a strictly decodable object, after one layer of
doubled braces is taken off, that names the wanted tool.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.llm.fallback.find import find_calls
from mud_assistant.llm.messages import ToolCall, ToolSpec

DATA = Path(__file__).parents[4] / "shared" / "data" / "small-model-outputs.jsonl"
_NAMED = re.compile(r'"(?:tool|name)"\s*:\s*"([^"]*)"')


def tool(name: str, *required: str) -> ToolSpec:
    properties = {parameter: {"type": "string"} for parameter in required}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(required)})


TOOLS = [tool("look"), tool("say", "text"), tool("move", "direction"), tool("web_search", "query")]
KNOWN = {spec.name for spec in TOOLS}


@dataclass(frozen=True)
class Row:
    model: str
    wanted: str
    raw: str

    def calls(self, *, complete: bool) -> tuple[ToolCall, ...]:
        return find_calls(self.raw, TOOLS, complete=complete, new_id=lambda: "id").calls

    def is_found(self, *, complete: bool) -> bool:
        return any(call.name == self.wanted and not call.problem for call in self.calls(complete=complete))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    if not DATA.exists():
        pytest.skip(f"the corpus is not here: {DATA}")
    lines = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    return [Row(line["model"], line["wanted_tool"], line["raw"]) for line in lines]


def decodable(raw: str) -> list[dict[str, Any]]:
    """Every strictly decodable object of a text, left to right."""
    found, position = [], 0
    while (position := raw.find("{", position)) >= 0:
        try:
            value, position = json.JSONDecoder().raw_decode(raw, position)
        except ValueError:
            position += 1
            continue
        found.append(value)
    return found


def named(value: dict[str, Any]) -> str:
    return str(value.get("tool", value.get("name", ""))).removesuffix("()")


@pytest.mark.parametrize("complete", [True, False])
def test_no_call_is_false(rows: list[Row], complete: bool) -> None:
    for row in rows:
        calls = row.calls(complete=complete)
        assert "{" in row.raw or not calls
        written = {name.removesuffix("()") for name in _NAMED.findall(row.raw)}
        for call in calls:
            assert call.name in written
            for value in call.arguments.values():
                assert not isinstance(value, str) or value.strip() in row.raw or json.dumps(value)[1:-1] in row.raw


def test_every_reachable_wanted_call_is_found(rows: list[Row]) -> None:
    reachable = [row for row in rows if any(named(value) == row.wanted for value in decodable(row.raw))]
    assert len(reachable) >= 50
    for row in reachable:
        assert row.is_found(complete=False), row.raw


def test_every_decodable_call_of_a_known_tool_comes_back_in_order(rows: list[Row]) -> None:
    for row in rows:
        wanted = [named(value) for value in decodable(row.raw) if named(value) in KNOWN]
        found = find_calls(row.raw, TOOLS, complete=False, new_id=lambda: "id")
        if wanted or not found.repaired:
            assert [call.name for call in found.calls if call.name in KNOWN] == wanted


def test_a_text_that_ended_by_itself_is_closed_and_one_that_was_cut_is_not(rows: list[Row]) -> None:
    closed = [row for row in rows if len(row.calls(complete=True)) > len(row.calls(complete=False))]
    assert len(closed) == 4
    for row in closed:
        assert row.raw.count("{") > row.raw.count("}")


def test_the_share_found(rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    asked = Counter(row.model for row in rows)
    found = Counter(row.model for row in rows if row.is_found(complete=False))
    called = Counter(row.model for row in rows if row.calls(complete=False))
    with capsys.disabled():
        for model in sorted(asked):
            sys.stdout.write(f"\n{model}: {found[model]} wanted, {called[model]} any call, of {asked[model]}")
    assert found["qwen2.5-coder-0.5b-instruct-q4_k_m"] >= 30
