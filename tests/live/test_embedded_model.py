"""The real model in its real processes: fetched, served, asked, killed, stopped."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
import pytest_twisted
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from mud_assistant.llm.embedded.child import child_environment
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.models import DEFAULT_MODEL
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embedded.supervisor import EmbeddedModel
from tests.live.conftest import ENVIRONMENT

pytestmark = [
    pytest.mark.slow,  # fetches 480 MB the first time, and loads the model six times
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the extra `embedded` is not installed"),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux to see a stranger's process end"),
]

ANSWER_SECONDS = 120.0

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]},
        },
    }
    for name, description, argument in (
        ("say", "Say something aloud", "text"),
        ("move", "Walk through an exit", "exit"),
    )
]
EXAMPLE = [
    {"role": "system", "content": "You are Mira, the guard of a gate in a game. Use a tool."},
    {"role": "user", "content": "Bob says: please go west"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "move", "arguments": '{"exit": "west"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "You walk west."},
    {"role": "user", "content": "Bob says: please go north"},
]
#: A parent that starts the model and then does nothing; it tells its child's number at once, and when it is ready.
PARENT = """
import os, sys
from pathlib import Path
from twisted.internet import reactor
from mud_assistant.llm.embedded.supervisor import EmbeddedModel
from tests.live.conftest import ENVIRONMENT

model = EmbeddedModel(reactor, reactor, environment=os.environ, data_dir=Path(), model_file=Path(sys.argv[1]))
model.start().addCallbacks(lambda _: print("ready", flush=True), lambda failure: print(failure, flush=True))
print(*(child.transport.pid for child in model._children), flush=True)
reactor.run()
"""


@dataclass
class Rig:
    """The embedded model on the real reactor."""

    reactor: Any
    path: Path
    restarted: Deferred[Endpoint] = field(default_factory=Deferred)

    def __post_init__(self) -> None:
        self.model = EmbeddedModel(
            self.reactor,
            self.reactor,
            environment=ENVIRONMENT,
            data_dir=self.path.parent,
            on_restart=self.restarted.callback,
        )

    def child(self) -> int:
        """A descriptor that becomes readable when the server process ends."""
        (child,) = self.model._children
        assert child.transport is not None
        assert child.transport.pid is not None
        return os.pidfd_open(child.transport.pid)


async def ask(endpoint: Endpoint, key: str, **options: object) -> list[dict[str, Any]]:
    """The chunks of one streamed chat completion."""
    body = {"model": endpoint.model, "stream": True, "temperature": 0, "max_tokens": 60, **options}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = Request(f"{endpoint.url}/v1/chat/completions", json.dumps(body).encode(), headers)  # noqa: S310  (loopback)

    def read() -> list[dict[str, Any]]:
        with build_opener(ProxyHandler({})).open(request, timeout=ANSWER_SECONDS) as answer:
            # A busy server also sends comments, which are `:`, so that nobody gives up on it.
            lines = [line.removeprefix(b"data: ").strip() for line in answer if line.startswith(b"data: ")]
        assert lines[-1] == b"[DONE]"
        return [json.loads(line) for line in lines[:-1]]

    return await deferToThread(read)


def ended(process: int) -> bool:
    """Whether the process ends, waited for at most two minutes."""
    watch = select.poll()
    watch.register(process, select.POLLIN)
    try:
        return bool(watch.poll(120_000))
    finally:
        os.close(process)


@pytest_twisted.async_yield_fixture(scope="module")
async def served(model_file: Path) -> AsyncIterator[Endpoint]:
    """The model, loaded once for those who only ask it something."""
    rig = Rig(_reactor, model_file)
    yield await rig.model.start()
    await rig.model.stop()


async def test_answers_in_plain_text(served: Endpoint) -> None:
    chunks = await ask(served, served.key, messages=[{"role": "user", "content": "Say hello."}])
    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert "hello" in text.lower()
    assert chunks[0]["model"] == DEFAULT_MODEL.file_name.removesuffix(".gguf")


async def test_calls_a_tool_natively_while_it_streams(served: Endpoint) -> None:
    chunks = await ask(served, served.key, messages=EXAMPLE, tools=TOOLS)
    assert served.own_template
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    calls = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
    assert [call["function"]["name"] for call in calls if "name" in call["function"]] == ["move"]
    assert json.loads("".join(call["function"].get("arguments", "") for call in calls)) == {"exit": "north"}
    assert len(calls) > 1
    assert choices[-1]["finish_reason"] == "tool_calls"


async def test_answers_nobody_without_the_key(served: Endpoint) -> None:
    with pytest.raises(HTTPError, match="401") as refused:
        await ask(served, "another key", messages=[{"role": "user", "content": "Say hello."}])
    refused.value.close()


async def test_comes_back_on_the_same_port_and_leaves_no_process(reactor: Any, model_file: Path) -> None:
    rig = Rig(reactor, model_file)
    first = await rig.model.start()
    (child,) = rig.model._children
    assert child.transport is not None
    child.transport.signalProcess("KILL")

    second = await rig.restarted
    process = rig.child()
    await rig.model.stop()

    assert ended(process)
    assert second == first


@pytest.mark.parametrize("ready", [True, False], ids=["ready", "loading"])
def test_a_killed_parent_leaves_no_process(model_file: Path, ready: bool) -> None:
    command = [sys.executable, "-P", "-c", PARENT, str(model_file)]
    with subprocess.Popen(command, env=child_environment(ENVIRONMENT), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = os.pidfd_open(int(parent.stdout.readline()))
        if ready:
            assert parent.stdout.readline() == "ready\n"
        parent.kill()

    assert ended(process)


async def test_a_cut_file_is_refused_with_the_librarys_own_words(
    reactor: Any,
    model_file: Path,
    tmp_path: Path,
) -> None:
    cut = tmp_path / "cut.gguf"
    with model_file.open("rb") as whole:
        cut.write_bytes(whole.read(20_000_000))
    model = EmbeddedModel(reactor, reactor, environment=ENVIRONMENT, data_dir=tmp_path, model_file=cut)

    with pytest.raises(EmbeddedUnavailable, match="corrupted or incomplete"):
        await model.start()
