"""An evening as it is held by its command: a new game, two players, a restart, and a sheet of what was answered."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.surfaces.game.folder import GameFolder, Ports
from mud_assistant.assistant.surfaces.game.processes import family
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, serve
from tests.live.command import reactor, start
from tests.ports import free_first_port

pytestmark = pytest.mark.slow  # a game is made and started twice

EVENING = """# An evening

Two players (O: the owner's account, B: Bea).

1. O: say Sage, 7 · B: whisper Sage = Sage, 8 · pose sits down.
2. *restart* · B: say Sage, 9 · O: say Oda, 10
"""
#: How long the whole evening may take on a busy machine, in seconds.
PATIENCE = 600.0


def numbers(request: RecordedRequest) -> Reply:
    """Speaks the last number that was heard, the way it came."""
    asked = json.dumps(request.messages, ensure_ascii=False)
    number = re.findall(r"(?:Sage|Oda), (\d+)", asked)[-1:]
    text = {"text": f"I heard {number[0]}." if number else "I heard nothing."}
    if number == ["8"]:
        return Reply(calls=(Call("whisper", {"target": "Bea", **text}),))
    return Reply(calls=(Call("say", text),))


async def test_an_evening_is_held_in_a_real_game_and_leaves_its_answers_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "evening.md").write_text(EVENING)
    folder, answers, port = tmp_path / "game", tmp_path / "answers.jsonl", free_first_port(10)
    async with serve(FakeOllama(reactor, numbers), reactor) as url:
        command = start(
            *(str(tmp_path / "evening.md"), "--answers", str(answers), "--folder", str(folder)),
            *("--python", sys.executable, "--pause", "2", "--quiet", "1"),
            *("--", "--provider", "ollama", "--url", url, "--port", str(port)),
            module="benchmarks.evening",
            folder=str(Path.cwd()),
        )
        result = await command.ended.addTimeout(PATIENCE, reactor)
    assert result.status == 0, result.err
    assert (family(GameFolder(folder)), Ports(port).taken()) == ([], [])
    record: dict[str, Any] = json.loads(answers.read_text())
    _, owner, bea, pose, restart, again, walk, oda = record["turns"]
    assert {"who": "Sage", "how": "say", "text": "I heard 7."} in owner["words"]
    assert owner["room"] == "library"
    assert 0 < owner["first"] <= owner["seconds"] < 20
    assert {"who": "Sage", "how": "whisper", "text": "I heard 8."} in bea["words"]
    assert all(" thinks ..." not in one["text"] for turn in record["turns"] for one in turn["words"])
    assert pose["words"] is not None
    assert restart["room"] == "library"
    assert {"who": "Sage", "how": "say", "text": "I heard 9."} in again["words"]
    assert walk["room"] == "inn"
    assert {"who": "Oda", "how": "say", "text": "I heard 10."} in oda["words"]
    assert oda["at"] == "inn"
