"""A whole gateway on loopback, before fake model servers; and the vendors' own clients, in threads."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import anthropic
import ollama
import openai
import orjson
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.threads import deferToThread

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.gateway.keys import KeyLimits, key_store
from mud_assistant.assistant.gateway.running import RunningGateway
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.llm.testing import FakeAnthropic, FakeChat, FakeOllama, FakeResponses, FakeServer, Script, serve

reactor: Any = _reactor
T = TypeVar("T")
#: A fake server for each kind of provider, and what stands behind its address.
FAKES: Mapping[str, tuple[Callable[[Script], FakeServer], str]] = {
    "local": (lambda script: FakeChat(reactor, script), "/v1"),
    "anthropic": (lambda script: FakeAnthropic(reactor, script), ""),
    "ollama": (lambda script: FakeOllama(reactor, script), ""),
    "openai-responses": (lambda script: FakeResponses(reactor, script), "/v1"),
}
_WALL = 1_795_348_800.0  # 2026-11-22 12:00 UTC
TOOL = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}


@dataclass
class Standing:
    """A gateway that is reached over loopback, and the server behind its model `sage`."""

    address: str
    gateway: RunningGateway
    service: AssistantService
    fake: FakeServer
    folder: Path
    key: str = "any"
    others: list[FakeServer] = field(default_factory=list)
    #: The secrets of its keys, by their names.
    secrets: Mapping[str, str] = field(default_factory=dict)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do what blocks: the vendors' clients do."""
        return await deferToThread(work)

    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.address}/v1", api_key=self.key, max_retries=0, timeout=15)

    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.address, api_key=self.key, max_retries=0, timeout=15)

    def ollama(self) -> ollama.Client:
        return ollama.Client(host=self.address, timeout=15, headers={"Authorization": f"Bearer {self.key}"})


@asynccontextmanager
async def standing(
    folder: Path,
    script: Script,
    *,
    provider: str = "local",
    key: str = "",
    settings: Mapping[str, Any] | None = None,
    fallback: Sequence[tuple[str, Script]] = (),
    more: Mapping[str, Any] | None = None,
    memory: Mapping[str, Any] | None = None,
    runs_on: Any = reactor,
    keys: Sequence[str] = (),
) -> AsyncIterator[Standing]:
    """Open a gateway with one model, `sage`, before a fake of this provider, and fakes of its fallbacks.

    `runs_on` is the reactor, or one whose time the test moves. `keys` are the names of keys that exist before it opens.
    """
    async with AsyncExitStack() as stack:
        fakes: list[FakeServer] = []
        models: list[dict[str, Any]] = []
        for name, steps in [(provider, script), *fallback]:
            make, path = FAKES[name]
            fake = make(steps)
            fake.clock = runs_on
            url = await stack.enter_async_context(serve(fake, reactor))
            fakes.append(fake)
            models.append({"provider": name, "model": "sage", "url": url + path, "max_attempts": 1, **(more or {})})
            if key or name in {"anthropic", "openai-responses"}:
                (folder / "provider.key").write_text(key or "planted-provider-key")
                (folder / "provider.key").chmod(0o600)
                models[-1]["key"] = "file:provider.key"
        first = {**models[0], "aliases": ["gpt-4o-mini"], "fallback": models[1:]}
        gateway = {"port": 0, "models": {"wise": first}, **(settings or {})}
        config = Config.model_validate({"gateway": gateway, "memory": memory or {}})
        store = key_store(config.gateway, folder)
        made = {name: store.add(name, KeyLimits(), _WALL, secrets.token_bytes) for name in keys}
        inputs = ServiceConfig(config, folder, {}, lambda: _WALL, Secrets(), None)
        service = AssistantService(runs_on, inputs, Random(1))  # noqa: S311  (jitter)
        service.open()
        running = RunningGateway(service, config.gateway)
        try:
            address = await running.open()
            yield Standing(address, running, service, fakes[0], folder, others=fakes[1:], secrets=made)
        finally:
            await running.close()
            await service.finish()


@contextmanager
def _closing(client: ollama.Client) -> Iterator[ollama.Client]:
    try:
        yield client
    finally:
        client._client.close()


@dataclass(frozen=True)
class Got:
    """What a client made of an answer."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    finish: str = ""
    usage: tuple[int, int] | None = None


def ask_chat(standing: Standing, *, streams: bool, tools: bool = False) -> Got:
    """Ask by OpenAI's client for Chat Completions."""
    with standing.openai() as client:
        asked: dict[str, Any] = {"model": "wise", "messages": [{"role": "user", "content": "Where is the well?"}]}
        if tools:
            asked["tools"] = [
                {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": TOOL}}
            ]
        if streams:
            with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
                for _ in stream:
                    pass
                whole: Any = stream.get_final_completion()
        else:
            whole = client.chat.completions.create(**asked)
        choice = whole.choices[0]
        calls = tuple(
            (call.function.name, orjson.loads(call.function.arguments)) for call in choice.message.tool_calls or ()
        )
        usage = (whole.usage.prompt_tokens, whole.usage.completion_tokens) if whole.usage else None
        return Got(choice.message.content or "", calls, choice.finish_reason, usage)


def ask_responses(standing: Standing, *, streams: bool, tools: bool = False) -> Got:
    """Ask by OpenAI's client for Responses."""
    with standing.openai() as client:
        asked: dict[str, Any] = {"model": "wise", "input": "Where is the well?"}
        if tools:
            asked["tools"] = [
                {"type": "function", "name": "look", "description": "Look.", "parameters": TOOL, "strict": True}
            ]
        if streams:
            with client.responses.stream(**asked) as stream:
                for _ in stream:
                    pass
                whole: Any = stream.get_final_response()
        else:
            whole = client.responses.create(**asked)
        calls = tuple(
            (item.name, orjson.loads(item.arguments)) for item in whole.output if item.type == "function_call"
        )
        usage = (whole.usage.input_tokens, whole.usage.output_tokens) if whole.usage else None
        return Got(whole.output_text, calls, whole.status, usage)


def ask_messages(standing: Standing, *, streams: bool, tools: bool = False) -> Got:
    """Ask by Anthropic's client."""
    with standing.anthropic() as client:
        asked: dict[str, Any] = {
            "model": "wise",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "Where is the well?"}],
        }
        if tools:
            asked["tools"] = [{"name": "look", "description": "Look.", "input_schema": TOOL}]
        if streams:
            with client.messages.stream(**asked) as stream:
                for _ in stream:
                    pass
                whole: Any = stream.get_final_message()
        else:
            whole = client.messages.create(**asked)
        text = "".join(block.text for block in whole.content if block.type == "text")
        calls = tuple((block.name, dict(block.input)) for block in whole.content if block.type == "tool_use")
        return Got(text, calls, whole.stop_reason, (whole.usage.input_tokens, whole.usage.output_tokens))


def ask_ollama(standing: Standing, *, streams: bool, tools: bool = False) -> Got:
    """Ask by Ollama's client."""
    with _closing(standing.ollama()) as client:
        asked: dict[str, Any] = {"model": "wise", "messages": [{"role": "user", "content": "Where is the well?"}]}
        if tools:
            asked["tools"] = [
                {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": TOOL}}
            ]
        pieces = list(client.chat(**asked, stream=True)) if streams else [client.chat(**asked, stream=False)]
        text = "".join(piece.message.content or "" for piece in pieces)
        found = [call for piece in pieces for call in piece.message.tool_calls or ()]
        calls = tuple((call.function.name, dict(call.function.arguments)) for call in found)
        last = pieces[-1]
        usage = (last.prompt_eval_count or 0, last.eval_count or 0)
        return Got(text, calls, last.done_reason or "", usage)


#: The clients by the dialect they speak.
CLIENTS: Mapping[str, Callable[..., Got]] = {
    "chat": ask_chat,
    "responses": ask_responses,
    "messages": ask_messages,
    "ollama": ask_ollama,
}
