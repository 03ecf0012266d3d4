"""A gateway before four scripted servers, one of each kind of provider, for as long as clients are tried."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a composition root)

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.gateway.running import RunningGateway
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.llm.testing import (
    Call,
    FakeAnthropic,
    FakeChat,
    FakeOllama,
    FakeResponses,
    FakeServer,
    RecordedRequest,
    Reply,
    Script,
    serve,
)

reactor: Any = _reactor
#: What every model says at the end.
ANSWER = "The well lies north of the mill, past the old oak: 北へ, über die Brücke."
#: What it thinks in the task with tools; clients give it back with the next request.
THOUGHT = "They want to know of the well."
#: What a client writes to a file in the task with tools, and the name of that file.
WRITTEN, FILE = "dug by hand", "well.txt"
#: The kinds of providers: the fake server of each, and the path of its API.
PROVIDERS: Mapping[str, tuple[Callable[[Script], FakeServer], str]] = {
    "chat": (lambda script: FakeChat(reactor, script), "/v1"),
    "anthropic": (lambda script: FakeAnthropic(reactor, script), ""),
    "ollama": (lambda script: FakeOllama(reactor, script), ""),
    "responses": (lambda script: FakeResponses(reactor, script), "/v1"),
}
_SETTING = {"chat": "local", "responses": "openai-responses"}
#: Names that clients insist on, for the model of each provider.
_ALIASES = {
    "chat": ("claude-3-haiku-20240307",),
    "anthropic": ("claude-3-opus-latest",),
    "ollama": ("claude-3-7-sonnet-latest",),
    "responses": ("claude-3-5-haiku-latest",),
}
_WALL = 1_795_348_800.0  # 2026-11-22 12:00 UTC


@dataclass(frozen=True)
class Upstreams:
    """The gateway's address, and the servers behind it by the names of their models."""

    address: str
    fakes: Mapping[str, FakeServer]
    #: For each model a name that Anthropic's programs take.
    claude: Mapping[str, str]


def answer(request: RecordedRequest) -> Reply:
    """Answer with the words, or, for the task, with two calls before them: one writes, one reads. Thinks aloud."""
    asked = str(request.body)
    if "TASK" not in asked:
        return Reply(ANSWER, usage=(21, 12))
    folder = re.search(r"TASK in (\S+?):", asked)
    calls = _calls(set(_names(request.body.get("tools"))), Path(folder.group(1)) if folder else Path())
    done = _results(request.body)
    if done < len(calls):
        return Reply("One thing first.", reasoning=THOUGHT, calls=(calls[done],), usage=(21, 12))
    return Reply(ANSWER, reasoning=THOUGHT, usage=(21, 12))


def _calls(offered: set[str], folder: Path) -> list[Call]:
    """Return the calls of the task for a client that offers these tools."""
    file = str(folder / FILE)
    if {"write", "read"} <= offered:
        return [Call("write", {"filePath": file, "content": WRITTEN}), Call("read", {"filePath": file})]
    if "exec_command" in offered:
        return [
            Call("exec_command", {"cmd": f"printf '{WRITTEN}' > {file}"}),
            Call("exec_command", {"cmd": f"cat {file}"}),
        ]
    if "shell" in offered:
        shell = [["sh", "-c", f"printf '{WRITTEN}' > {file}"], ["cat", file]]
        return [Call("shell", {"command": command}) for command in shell]
    return []


def _names(tools: Any) -> Iterator[str]:
    for tool in tools or ():
        yield str(tool.get("name") or tool.get("function", {}).get("name"))


def _results(body: Mapping[str, Any]) -> int:
    """Count the results of calls in the request, in whichever form they come."""
    items = [*(body.get("messages") or ()), *(body["input"] if isinstance(body.get("input"), list) else ())]
    parts = [part for item in items if isinstance(item.get("content"), list) for part in item["content"]]
    return sum(
        item.get("role") == "tool" or item.get("type") in {"function_call_output", "tool_result"}
        for item in (*items, *(part for part in parts if isinstance(part, Mapping)))
    )


@asynccontextmanager
async def upstreams(folder: Path) -> AsyncIterator[Upstreams]:
    """Open the servers and the gateway, which keeps its files in this folder."""
    async with AsyncExitStack() as stack:
        fakes = {name: make(answer) for name, (make, _) in PROVIDERS.items()}
        models: dict[str, Any] = {}
        for name, fake in fakes.items():
            url = await stack.enter_async_context(serve(fake, reactor)) + PROVIDERS[name][1]
            made = {
                "provider": _SETTING.get(name, name),
                "model": "sage",
                "url": url,
                "aliases": _ALIASES[name],
                "context_tokens": 65_536,
            }
            if name in {"anthropic", "responses"}:
                key = folder / f"{name}.key"
                key.write_text("planted-provider-key")
                key.chmod(0o600)
                made["key"] = f"file:{key.name}"
            models[name] = made
        config = Config.model_validate({"gateway": {"port": 0, "models": models}})
        inputs = ServiceConfig(config, folder, {}, lambda: _WALL, Secrets(), None)
        service = AssistantService(reactor, inputs, Random(1))  # noqa: S311  (jitter)
        service.open()
        gateway = RunningGateway(service, config.gateway)
        try:
            yield Upstreams(await gateway.open(), fakes, {name: aliases[0] for name, aliases in _ALIASES.items()})
        finally:
            await gateway.close()
            await service.finish()
