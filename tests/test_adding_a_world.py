"""The world of docs/adding-a-world.md keeps the contract of worlds, holds a conversation, and passes the checks."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.events.events import Arrived, ChannelSaid, Emoted, Gave, Left, Paged, Said, Whispered
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.game import World
from mud_assistant.tools.testing import ANNA, SAGE, Act
from tests.contracts import test_world as contract
from tests.live.command import reactor, start

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs/worlds/chat_room.py"
PAGE = ROOT / "docs/adding-a-world.md"


def loaded() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("chat_room", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["chat_room"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def printed(block: int) -> str:
    """A block of Python of the page."""
    blocks: list[str] = re.findall(r"^ *```python\n(.*?)^ *```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return textwrap.dedent(blocks[block])


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


async def test_what_the_page_prints_starts_an_assistant_that_hears(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, answers), reactor) as url:
        path = tmp_path / "assistant.toml"
        path.write_text(f'[model]\nprovider = "ollama"\nurl = "{url}"\nmodel = "sage"\n')
        acts: list[Act] = []
        game = chat_room.ChatRoom()
        game.add(ANNA, lambda make: acts.append(as_act(make)))
        body = game.add(SAGE)
        names: dict[str, Any] = {"body": body, "Said": Said, "speaker": ANNA, "text": "Hello"}
        exec(printed(1), names)  # noqa: S102  (the page's own example)
        service, runner = names["begin"](reactor, path, SAGE, body)
        try:
            body.hear = runner.hear
            exec(printed(0), names)  # noqa: S102  (the same)
            await Deferred.fromCoroutine(runner.settled()).addTimeout(20, reactor)
        finally:
            await service.finish()
    assert acts == [Act("say", "You said hello, You.")]


async def test_the_conversation_that_the_page_prints_is_held(tmp_path: Path) -> None:
    acts: list[Act] = []
    game = chat_room.ChatRoom()
    game.add(ANNA, lambda make: acts.append(as_act(make)))
    names: dict[str, Any] = {}
    for block in (1, 2):
        exec(printed(block), names)  # noqa: S102  (the page's own example)
    path, body = tmp_path / "assistant.toml", game.add(SAGE)
    await names["talk"](reactor, path, SAGE, body, lambda id_, at: Said(id=id_, at=at, who=ANNA, text="Hi", alone=True))
    assert [act.verb for act in acts] == ["say"]


def test_ruff_and_mypy_have_nothing_against_it(tmp_path: Path) -> None:
    begin = tmp_path / "begin.py"
    begin.write_text(f'"""Begins."""\n\n{printed(1)}')
    # A composition root takes the time and chance from the system, as docs/worlds does (pyproject.toml).
    lenient = ["--no-cache", f"--config={ROOT / 'pyproject.toml'}", "--ignore=INP001,TID251,S311"]
    commands = (
        ["ruff", "check", str(EXAMPLE)],
        ["ruff", "check", *lenient, str(begin)],
        ["ruff", "format", "--check", str(EXAMPLE), str(begin)],
        ["mypy", "--follow-imports=silent", str(EXAMPLE), str(begin)],
    )
    for command in commands:
        done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_page_names_every_method_of_a_world() -> None:
    page = PAGE.read_text()
    methods = [name for name in vars(World) if not name.startswith("_")]
    assert methods
    assert [name for name in methods if f"`{name}`" not in page] == []
