"""Which model is chosen, against fake servers on loopback; the embedded one by a stand-in child process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.errors import NoModelError
from mud_assistant.assistant.keys.reference import KeySources
from mud_assistant.assistant.models.choose import Chooser
from mud_assistant.assistant.models.chosen import ChosenModel, Served
from mud_assistant.llm.embedded.fetching.models import pinned_name
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel
from mud_assistant.llm.providers import OllamaProvider
from mud_assistant.llm.testing import FakeAnthropic, FakeChat, FakeOllama, OllamaModel, RecordedRequest, serve
from mud_assistant.llm.testing.server import FakeServer
from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.resilience.testing.fake import Answered, Fake, Response, ServedRequest, sized_response
from tests.assistant.living import reactor

#: A child that says where it serves, as the real one does, and ends with its parent.
STAND_IN = """
import json, sys
print(json.dumps({"url": "http://127.0.0.1:9", "model": "tiny", "own_template": True}), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens where an Ollama usually does, also when this machine has one."""
    monkeypatch.setattr(OllamaProvider, "usual_url", "http://127.0.0.1:1")


@asynccontextmanager
async def chooser(tmp_path: Path, environment: dict[str, str] | None = None) -> AsyncIterator[Chooser]:
    def embedded(path: Path | None, moved: Callable[[Endpoint], None]) -> Served:
        command = (sys.executable, "-c", STAND_IN)
        file = path or tmp_path / "tiny.gguf"
        return EmbeddedModel(
            reactor,
            reactor,
            environment={},
            data_dir=tmp_path,
            model_file=file,
            commands=Commands(command, command),
            on_restart=moved,
        )

    exchange = HttpExchange(reactor)
    try:
        keys = KeySources(environment or {}, partial(in_daemon_thread, reactor, 10.0), tmp_path)
        yield Chooser(exchange, reactor, keys, embedded)
    finally:
        await exchange.close()


async def choose(
    tmp_path: Path, fake: FakeServer, make: Callable[[str], ModelConfig], **environment: str
) -> ChosenModel:
    async with serve(fake, reactor) as url, chooser(tmp_path, environment) as chooses:
        return await chooses.choose(make(url))


async def refusal(tmp_path: Path, fake: FakeServer, make: Callable[[str], ModelConfig]) -> str:
    with pytest.raises(NoModelError) as caught:
        await choose(tmp_path, fake, make)
    return str(caught.value)


async def test_an_ollama_at_the_usual_place_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeOllama(reactor, [])
    async with serve(fake, reactor) as url, chooser(tmp_path) as chooses:
        monkeypatch.setattr(OllamaProvider, "usual_url", url)
        chosen = await chooses.choose(ModelConfig())
    assert chosen.provider.name == "ollama"
    assert chosen.provider.model == "sage:latest"
    assert url in chosen.why


async def test_the_first_model_that_knows_tools_is_taken(tmp_path: Path) -> None:
    models = {
        "embedder": OllamaModel(("embedding",)),
        "talker": OllamaModel(("completion",)),
        "doer": OllamaModel(("completion", "tools")),
    }
    chosen = await choose(tmp_path, FakeOllama(reactor, [], models), lambda url: ModelConfig(url=url))
    assert chosen.provider.model.startswith("doer")


async def test_without_one_that_knows_tools_one_that_talks_is_taken(tmp_path: Path) -> None:
    models = {"embedder": OllamaModel(("embedding",)), "talker": OllamaModel(("completion",))}
    chosen = await choose(tmp_path, FakeOllama(reactor, [], models), lambda url: ModelConfig(url=url))
    assert chosen.provider.model.startswith("talker")


@pytest.mark.usefixtures("no_ollama")
async def test_without_an_ollama_the_embedded_model_is_started(tmp_path: Path) -> None:
    async with chooser(tmp_path) as chooses:
        chosen = await chooses.choose(ModelConfig())
        assert chosen.embedded is not None
        await chosen.embedded.stop()
    assert "no Ollama answers" in chosen.why
    assert chosen.provider.get_api_url() == "http://127.0.0.1:9/v1/chat/completions"
    assert chosen.config.tool_choice == "required"
    assert {"noop", "page", "channel", "take", "drop", "give"} <= chosen.withheld


async def test_an_ollama_without_models_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(FakeOllama(reactor, [], {}), reactor) as url, chooser(tmp_path) as chooses:
        monkeypatch.setattr(OllamaProvider, "usual_url", url)
        chosen = await chooses.choose(ModelConfig())
        assert chosen.embedded is not None
        await chosen.embedded.stop()
    assert "has no model" in chosen.why


async def test_a_model_that_comes_back_elsewhere_is_asked_there_with_its_key(tmp_path: Path) -> None:
    told: list[Callable[[Endpoint], None]] = []
    async with chooser(tmp_path) as chooses:
        make = chooses.make_embedded

        def listening(path: Path | None, moved: Callable[[Endpoint], None]) -> Served:
            told.append(moved)
            return make(path, moved)

        chosen = await replace(chooses, make_embedded=listening).choose(ModelConfig(provider="embedded"))
        told[0](Endpoint("http://127.0.0.1:10", "its-key", "tiny", own_template=True))
        assert chosen.embedded is not None
        await chosen.embedded.stop()
    assert chosen.provider.get_api_url() == "http://127.0.0.1:10/v1/chat/completions"
    assert chosen.provider.build_headers().getRawHeaders("authorization") == ["Bearer its-key"]


@pytest.mark.usefixtures("no_ollama")
async def test_a_model_name_without_an_ollama_is_not_quietly_replaced(tmp_path: Path) -> None:
    async with chooser(tmp_path) as chooses:
        with pytest.raises(NoModelError, match="ollama serve"):
            await chooses.choose(ModelConfig(model="qwen3:4b"))


async def test_an_address_alone_tells_ollama_from_the_others(tmp_path: Path) -> None:
    ollama = await choose(tmp_path, FakeOllama(reactor, []), lambda url: ModelConfig(url=url))
    chat = await choose(tmp_path, FakeChat(reactor, [], models=["m"]), lambda url: ModelConfig(url=f"{url}/v1"))
    assert (ollama.provider.name, chat.provider.name) == ("ollama", "local")
    assert chat.provider.model == "m"


async def test_a_missing_model_is_told_with_those_there_are(tmp_path: Path) -> None:
    told = await refusal(tmp_path, FakeOllama(reactor, []), lambda url: ModelConfig(url=url, model="gone"))
    assert "'gone'" in told
    assert "sage" in told
    chat = FakeChat(reactor, [], models=["m"])
    told = await refusal(tmp_path, chat, lambda url: ModelConfig(provider="local", url=url, model="gone"))
    assert "it has: m" in told


async def test_an_ollama_without_any_model_says_how_to_get_one(tmp_path: Path) -> None:
    told = await refusal(tmp_path, FakeOllama(reactor, [], {}), lambda url: ModelConfig(provider="ollama", url=url))
    assert "ollama pull" in told


async def test_a_wrong_key_is_told_without_the_key(tmp_path: Path) -> None:
    fake = FakeChat(reactor, [], "right")
    async with serve(fake, reactor) as url, chooser(tmp_path, {"K": "planted-wrong"}) as chooses:
        with pytest.raises(NoModelError) as caught:
            await chooses.choose(ModelConfig(provider="local", url=url, key="env:K"))
    assert "refused the key" in str(caught.value)
    assert "planted-wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"provider": "magic"}, "no provider 'magic'; choose one of: anthropic, auto, embedded, local"),
        ({"provider": "local"}, "--url"),
        ({"provider": "ollama", "url": "http://127.0.0.1:1"}, "cannot connect"),
        ({"provider": "local", "url": "http://127.0.0.1:1"}, "cannot connect"),
        ({"provider": "ollama", "key": "env:NOT_THERE"}, "NOT_THERE"),
    ],
)
async def test_what_cannot_be_used_is_one_sentence(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    async with chooser(tmp_path) as chooses:
        with pytest.raises(NoModelError) as caught:
            await chooses.choose(ModelConfig(**settings))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://API.OpenAI.com", "openai"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.anthropic.com", "anthropic"),
    ],
)
async def test_an_ollama_at_the_address_of_a_service_is_told_without_asking_it(
    tmp_path: Path, url: str, provider: str
) -> None:
    async with chooser(tmp_path) as chooses:
        with pytest.raises(NoModelError, match=f"is the address of the provider '{provider}' and no Ollama: choose"):
            await chooses.choose(ModelConfig(provider="ollama", url=url, model="gpt-4o"))


class Puzzled(FakeChat):
    """A server that answers a path it does not know with 200 and an error, as LM Studio does."""

    def answer(self, request: RecordedRequest) -> Answered:
        """Return what such a server says."""
        if request.path == "/api/tags":
            return self.json({"error": "Unexpected endpoint or method. (GET /api/tags)"})
        return super().answer(request)


@pytest.mark.parametrize("path", ["", "/v1"])
@pytest.mark.parametrize(("kind", "key"), [(FakeChat, None), (FakeChat, "right"), (Puzzled, None)])
async def test_an_ollama_at_a_server_of_openais_api_is_told_with_the_provider_to_choose(
    tmp_path: Path, path: str, kind: type[FakeChat], key: str | None
) -> None:
    fake = kind(reactor, [], key, models=["sage"])
    async with serve(fake, reactor) as url, chooser(tmp_path, {"K": "right"}) as chooses:
        config = ModelConfig(provider="ollama", url=f"{url}{path}", model="sage", key="env:K" if key else "")
        with pytest.raises(NoModelError) as caught:
            await chooses.choose(config)
        told = (
            f"the server at {url} is no Ollama, it speaks OpenAI's API: choose the provider 'local' with the address "
        )
        assert str(caught.value) == f"{told}{url}/v1"
        assert (await chooses.choose(config.model_copy(update={"provider": "local", "url": f"{url}/v1"}))).is_there


@pytest.mark.parametrize("name", ["openai", "openai-responses", "openrouter", "anthropic"])
async def test_a_provider_on_the_internet_needs_a_key_and_a_model(name: str, tmp_path: Path) -> None:
    async with chooser(tmp_path, {"K": "planted"}) as chooses:
        with pytest.raises(NoModelError, match=f"--key env:{name.upper().removesuffix('-RESPONSES')}_API_KEY"):
            await chooses.choose(ModelConfig(provider=name, model="m"))
        with pytest.raises(NoModelError, match="--model"):
            await chooses.choose(ModelConfig(provider=name, key="env:K"))


@pytest.mark.parametrize("name", ["openai", "openai-responses", "openrouter", "anthropic"])
async def test_a_provider_on_the_internet_is_asked_whether_it_takes_the_key(name: str, tmp_path: Path) -> None:
    fake = FakeAnthropic(reactor, [], "right") if name == "anthropic" else FakeChat(reactor, [], "right")
    async with serve(fake, reactor) as url, chooser(tmp_path, {"GOOD": "right", "BAD": "planted-wrong"}) as chooses:
        base = url if name == "anthropic" else f"{url}/v1"
        chosen = await chooses.choose(ModelConfig(provider=name, url=base, model="m", key="env:GOOD"))
        assert chosen.provider.name == name
        with pytest.raises(NoModelError, match="refused the key") as caught:
            await chooses.choose(ModelConfig(provider=name, url=base, model="m", key="env:BAD"))
    assert "planted-wrong" not in str(caught.value)


class Page(Fake[ServedRequest]):
    """A web server that is no model server."""

    request_type = ServedRequest

    def answer(self, request: ServedRequest) -> Response:
        return sized_response(b"<html>It works!</html>", "text/html")


async def test_a_stranger_at_the_address_is_told(tmp_path: Path) -> None:
    async with serve(Page(), reactor) as url, chooser(tmp_path) as chooses:
        with pytest.raises(NoModelError, match="right address"):
            await chooses.choose(ModelConfig(provider="ollama", url=url))


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("qwen2.5-coder-1.5b-instruct-q4_k_m", True),
        ("Qwen3-4B-Q4_K_M", True),
        ("microsoft_Phi-4-mini-instruct-Q4_K_M", True),  # its name tells no size, and it fits on this machine
        ("granite-4.0-micro-Q4_K_M", True),
        ("Mistral-7B-Instruct-v0.3-Q4_K_M", False),
    ],
)
async def test_an_embedded_model_is_asked_plainly_up_to_four_billion(tmp_path: Path, name: str, *, plain: bool) -> None:
    async with chooser(tmp_path) as chooses:
        chosen = await chooses.choose(ModelConfig(provider="embedded"))
        assert chosen.embedded is not None
        await chosen.embedded.stop()
    chosen.provider.model = name
    assert chosen.asked_plainly is plain
    for asking in ("tools", "plain"):
        settled = replace(chosen, config=chosen.config.model_copy(update={"asking": asking}))
        assert settled.asked_plainly is (asking == "plain")


async def test_a_model_of_a_hub_is_an_embedded_one(tmp_path: Path) -> None:
    asked: list[Path | None] = []
    async with chooser(tmp_path) as chooses:
        make = chooses.make_embedded

        def listening(path: Path | None, moved: Callable[[Endpoint], None]) -> Served:
            asked.append(path)
            return make(tmp_path / "tiny.gguf", moved)

        wanted = ModelConfig(model="hf:Qwen/Qwen3-1.7B-GGUF:q8_0")
        chosen = await replace(chooses, make_embedded=listening).choose(wanted)
        assert chosen.embedded is not None
        await chosen.embedded.stop()
    assert [pinned_name(path) for path in asked] == ["hf:Qwen/Qwen3-1.7B-GGUF:Q8_0"]
