"""Images of a client's request: carried into every other dialect, or refused by name."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_twisted

from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.llm.testing import FakeOllama, HttpError, OllamaModel, Reply
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.asking import PATHS, ask, get
from tests.assistant.gateway.standing import FAKES, Standing, standing
from tests.assistant.gateway.test_planted_keys import key_of

PNG = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()
JPEG = b64encode(b"\xff\xd8\xff\xe0" + bytes(64)).decode()
URL = f"data:image/png;base64,{PNG}"
SEEN = Reply("A mill.", usage=(21, 3))
SEES = {"sage": OllamaModel(("completion", "tools", "vision"))}


def body_of(dialect: str, data: str = PNG, kind: str = "image/png", **more: Any) -> dict[str, Any]:
    """A request with an image between two texts."""
    url = f"data:{kind};base64,{data}"
    image: Mapping[str, Mapping[str, Any]] = {
        "chat": {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        "responses": {"type": "input_image", "image_url": url, "detail": "auto"},
        "messages": {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}},
    }
    said: dict[str, Any] = {"model": "wise", "stream": False, **more}
    if dialect == "generate":
        return {**said, "prompt": "What is this?\nBe brief.", "images": [data]}
    if dialect == "ollama":
        return {**said, "messages": [{"role": "user", "content": "What is this?\nBe brief.", "images": [data]}]}
    word = "input_text" if dialect == "responses" else "text"
    parts = [{"type": word, "text": "What is this?"}, image[dialect], {"type": word, "text": "Be brief."}]
    if dialect == "responses":
        return {**said, "input": [{"role": "user", "content": parts}]}
    return {**said, "max_tokens": 99, "messages": [{"role": "user", "content": parts}]}


#: Where each is asked.
ASKED = {**PATHS, "generate": "/api/generate"}
#: What each kind of provider is sent, wherever the client put the image.
TEXTS = ["What is this?", "Be brief."]


def check_sent(provider: str, body: Mapping[str, Any], data: str, kind: str) -> None:
    """Check that the provider got the texts and the image, in its own words and in their order if it has one."""
    url = f"data:{kind};base64,{data}"
    match provider:
        case "ollama":
            last = body["messages"][-1]
            assert (last["role"], last["images"]) == ("user", [data])
            assert all(text in last["content"] for text in TEXTS)
            return
        case "anthropic":
            parts = body["messages"][-1]["content"]
            [image] = [part for part in parts if part["type"] == "image"]
            assert image["source"] == {"type": "base64", "media_type": kind, "data": data}
        case "local":
            parts = body["messages"][-1]["content"]
            assert [part["image_url"]["url"] for part in parts if part["type"] == "image_url"] == [url]
        case _:
            parts = body["input"][-1]["content"]
            assert [part["image_url"] for part in parts if part["type"] == "input_image"] == [url]
    assert all(text in str(parts) for text in TEXTS)


@pytest.mark.parametrize(("data", "kind"), [(PNG, "image/png"), (JPEG, "image/jpeg")])
@pytest.mark.parametrize("provider", FAKES)
@pytest.mark.parametrize("dialect", ASKED)
@pytest_twisted.ensureDeferred
async def test_an_image_reaches_the_model_from_every_dialect(
    tmp_path: Path, dialect: str, provider: str, data: str, kind: str
) -> None:
    async with standing(tmp_path, [SEEN], provider=provider) as gateway:
        if isinstance(gateway.fake, FakeOllama):
            gateway.fake.models["sage:latest"] = SEES["sage"]
        got = await ask(gateway, ASKED[dialect], body_of(dialect, data, kind))
        assert (got.status, "A mill." in got.text) == (200, True)
        (request,) = gateway.fake.chats
        check_sent(provider, request.body, data, kind)


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages", "ollama"])
@pytest_twisted.ensureDeferred
async def test_the_vendors_clients_send_images(tmp_path: Path, dialect: str) -> None:
    """Each before a provider of another dialect."""
    provider = "anthropic" if dialect == "chat" else "local"
    async with standing(tmp_path, [SEEN], provider=provider) as gateway:
        assert await gateway.in_thread(lambda: _asked(gateway, dialect)) == "A mill."
        check_sent(provider, gateway.fake.chats[0].body, PNG, "image/png")


def _asked(gateway: Standing, dialect: str) -> str:
    body = {key: value for key, value in body_of(dialect).items() if key != "stream"}
    match dialect:
        case "chat":
            with gateway.openai() as client:
                return str(client.chat.completions.create(**body).choices[0].message.content)
        case "responses":
            with gateway.openai() as client:
                return str(client.responses.create(**body).output_text)
        case "messages":
            with gateway.anthropic() as asked:
                return str(asked.messages.create(**body).content[0].text)
    ollama = gateway.ollama()
    try:
        return str(ollama.chat(**body).message.content)
    finally:
        ollama._client.close()


@pytest_twisted.ensureDeferred
async def test_several_images_keep_their_places_among_the_texts(tmp_path: Path) -> None:
    def part(data: str, kind: str) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}

    parts = [part(PNG, "image/png"), {"type": "text", "text": "or"}, part(JPEG, "image/jpeg")]
    said = [{"role": "user", "content": parts}, {"role": "assistant", "content": "The first."},
            {"role": "user", "content": "Why?"}]  # fmt: skip
    async with standing(tmp_path, [SEEN], provider="anthropic") as gateway:
        got = await ask(gateway, PATHS["chat"], {"model": "wise", "messages": said})
        assert got.status == 200
        first = gateway.fake.chats[0].messages[0]["content"]
        assert [block["type"] for block in first] == ["image", "text", "image"]
        assert gateway.fake.chats[0].messages[-1]["content"][0]["text"] == "Why?"


SYSTEM = [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
          {"role": "user", "content": "a"}]  # fmt: skip
NO_IMAGE = "data:image/png;base64,aGk="
ADDRESS = "https://example.org/mill.png"
#: What cannot be carried, and the field that is named.
REFUSED: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "an address, chat": (
        "chat",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ADDRESS}}]}]},
        "messages[0].content[0].image_url.url",
    ),
    "an address, responses": (
        "responses",
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": ADDRESS}]}]},
        "input[0].content[0].image_url",
    ),
    "a file": (
        "responses",
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]},
        "input[0].content[0].file_id",
    ),
    "of the system": ("chat", {"messages": SYSTEM}, "messages[0].content[0].type"),
    "no image": (
        "chat",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": NO_IMAGE}}]}]},
        "messages[0].content[0].image_url.url",
    ),
    "of an answer": (
        "ollama",
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "images": [PNG]}]},
        "messages[1].images",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
@pytest_twisted.ensureDeferred
async def test_what_cannot_be_carried_is_refused_by_name_and_nothing_is_fetched(tmp_path: Path, what: str) -> None:
    dialect, body, field = REFUSED[what]
    provider = "anthropic" if dialect == "chat" else "local"
    async with standing(tmp_path, [], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], {"model": "wise", "stream": False, **body})
        assert (got.status, field in got.text) == (400, True)
        assert gateway.fake.chats == []


@pytest_twisted.ensureDeferred
async def test_anthropic_s_addresses_are_refused(tmp_path: Path) -> None:
    block = {"type": "image", "source": {"type": "url", "url": ADDRESS}}
    async with standing(tmp_path, []) as gateway:
        body = {"model": "wise", "max_tokens": 9, "messages": [{"role": "user", "content": [block]}]}
        got = await ask(gateway, PATHS["messages"], body)
        assert (got.status, "messages[0].content[0].source.type" in got.text) == (400, True)


@pytest.mark.parametrize("dialect", ASKED)
@pytest_twisted.ensureDeferred
async def test_a_model_that_is_known_to_see_nothing_is_not_asked(tmp_path: Path, dialect: str) -> None:
    """Ollama would answer as if there were no image."""
    async with standing(tmp_path, [SEEN, SEEN], provider="ollama") as gateway:
        for _ in range(2):
            got = await ask(gateway, ASKED[dialect], body_of(dialect))
            assert (got.status, "takes no images" in got.text) == (400, True)
        assert gateway.fake.chats == []
        assert [request.path for request in gateway.fake.requests].count("/api/show") <= 2
        plain = {"model": "wise", "messages": [{"role": "user", "content": "Where?"}]}
        assert (await ask(gateway, PATHS["chat"], plain)).status == 200


SAID = [
    HttpError(500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    HttpError(400, "'sage' does not support image input"),
    HttpError(400, "Invalid content type. image_url is only supported by certain models."),
    HttpError(404, "No endpoints found that support image input"),
    HttpError(400, "sage is not a multimodal model"),
]


@pytest.mark.parametrize("step", SAID, ids=["llama.cpp", "Ollama", "OpenAI", "OpenRouter", "vLLM"])
@pytest_twisted.ensureDeferred
async def test_a_model_that_refuses_images_is_named_so_and_asked_for_words_again(
    tmp_path: Path, step: HttpError
) -> None:
    async with standing(tmp_path, [step, SEEN], more={"max_attempts": 3}) as gateway:
        got = await ask(gateway, PATHS["messages"], body_of("messages"))
        error = orjson.loads(got.body)["error"]
        assert (got.status, error["type"]) == (400, "invalid_request_error")
        assert "the model behind this name takes no images" in error["message"]
        body = {"model": "wise", "max_tokens": 9, "messages": [{"role": "user", "content": "Where?"}]}
        assert (await ask(gateway, PATHS["messages"], body)).status == 200
        assert len(gateway.fake.chats) == 2


@pytest_twisted.ensureDeferred
async def test_an_image_is_not_counted_as_its_bytes(tmp_path: Path) -> None:
    """A megabyte of base64 would else use up a day's tokens before the provider has counted, and spoil the estimate."""
    large = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(1_000_000)).decode()
    async with standing(tmp_path, [SEEN, SEEN], provider="local") as gateway:
        count = await ask(gateway, "/v1/messages/count_tokens", body_of("messages", large))
        assert 1_000 < orjson.loads(count.body)["input_tokens"] < 2_000
        (chosen,) = gateway.gateway.models._offered["wise"].chosen
        before = chosen.provider.tokens.bytes_per_token
        key = key_of(gateway, "frugal", KeyLimits(day=Allowance(tokens=5_000)))
        await gateway.gateway._keys.refresh()
        for dialect in ("messages", "chat"):  # translated, and forwarded
            got = await ask(gateway, PATHS[dialect], body_of(dialect, large), x_api_key=key)
            assert got.status == 200
        assert chosen.provider.tokens.bytes_per_token == before
        assert gateway.service.parts.ledger.spent("key:frugal").tokens == 48


@pytest_twisted.ensureDeferred
async def test_clients_of_ollama_are_told_which_models_see(tmp_path: Path) -> None:
    for provider, sees in (("anthropic", True), ("local", False)):
        async with standing(tmp_path, [], provider=provider) as gateway:
            await gateway.gateway.models.chain(gateway.gateway.models._offered["wise"])
            shown = orjson.loads((await ask(gateway, "/api/show", {"model": "wise"})).body)
            assert ("vision" in shown["capabilities"]) == sees
            assert (await get(gateway, "/api/tags")).status == 200
