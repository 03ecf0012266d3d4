"""The world of docs/adding-a-world.md keeps the contract of worlds, holds a conversation, and passes the checks."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from assistant.config.options import merged
from assistant.events.events import Arrived, ChannelSaid, Emoted, Gave, Left, Paged, Said, Whispered
from llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.contracts import test_world as contract
from tests.live.command import reactor, start
from tools.context import World
from tools.testing import ANNA, SAGE, Act

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs/worlds/chat_room.py"


def loaded() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("chat_room", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["chat_room"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


chat_room: Any = loaded()
# pytest collects the tests of the contract here too, with the subject below.
globals().update({name: test for name, test in vars(contract).items() if name.startswith("test_")})


def as_act(make: Any) -> Act:
    """What Anna perceives, as the act it tells of."""
    event = make("e", 0.0)
    match event:
        case Said() | Emoted():
            return Act("say" if isinstance(event, Said) else "emote", event.text)
        case Whispered() | Paged():
            return Act("whisper" if isinstance(event, Whispered) else "page", event.text, ANNA.name)
        case ChannelSaid():
            return Act("channel", event.text, event.channel)
        case Gave():
            return Act("give", event.thing, ANNA.name)
        case Left() | Arrived():
            return Act("move", target=getattr(event, "direction", ""))
        case _:
            raise AssertionError(event)


@pytest.fixture
def subject() -> contract.Subject:
    acts: list[Act] = []
    game = chat_room.ChatRoom()
    game.add(ANNA, lambda make: acts.append(as_act(make)))
    return contract.Subject(game.add(SAGE), lambda: acts)


def answers(request: RecordedRequest) -> Step:
    heard = str(request.messages[-1]["content"])
    return Reply(calls=(Call("say", {"text": f"You said hello, {'You' if 'Hello' in heard else 'stranger'}."}),))


async def test_it_holds_a_conversation(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, answers), reactor) as url:
        settings = {"model": {"provider": "ollama", "url": url, "model": "sage"}, "assistant": {"name": "Iris"}}
        lines: list[str] = []
        visit = chat_room.Visit(reactor, merged(settings), tmp_path, lines.append)
        try:
            await visit.you.say("Hello Iris")
            await Deferred.fromCoroutine(visit.runner.settled()).addTimeout(20, reactor)
        finally:
            await visit.service.close()
    assert lines == ["Iris says: You said hello, You."]


async def test_the_program_talks_over_standard_input(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, answers), reactor) as url:
        (tmp_path / "assistant.toml").write_text(f'[model]\nprovider = "ollama"\nurl = "{url}"\nmodel = "sage"\n')
        paths = os.pathsep.join((str(ROOT), str(EXAMPLE.parent)))
        program = start(str(tmp_path / "assistant.toml"), module="chat_room", environment={"PYTHONPATH": paths})
        transport: Any = program.transport
        transport.write(b"Hello Sage\n")
        transport.closeStdin()
        result = await program.ended
    assert (result.status, result.out) == (0, "Sage says: You said hello, You.\n"), result.err


def test_ruff_and_mypy_have_nothing_against_it() -> None:
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy", "--follow-imports=silent"]):
        done = subprocess.run([sys.executable, "-m", *command, EXAMPLE], cwd=ROOT, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_page_names_every_method_of_a_world() -> None:
    page = (ROOT / "docs/adding-a-world.md").read_text()
    methods = [name for name in vars(World) if not name.startswith("_")]
    assert methods
    assert [name for name in methods if f"`{name}`" not in page] == []
