"""What stands beside the four dialects: vectors, legacy completions, generate, a sign of health, and prices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_twisted

from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.assistant.runtime.storage import SharingCounts
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.testing import EndEarly, HttpError, Reply, serve
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.asking import PATHS, SPEAKERS, ask, body_of, events, get
from tests.assistant.gateway.standing import FAKES, Standing, reactor, standing
from tests.assistant.gateway.test_planted_keys import key_of
from tests.llm.embeddings.vector_servers import OpenAIVectors

HERE = Reply("The well lies north.", usage=(7, 3))
TEXTS = ["The well lies north.", "A mill stands by the river.", "Where is the well?"]


@pytest_twisted.ensureDeferred
async def test_the_gateway_is_healthy_without_a_key_and_says_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with standing(tmp_path, []) as gateway:
        key_of(gateway, "laptop")
        await gateway.gateway._keys.refresh()
        assert (await get(gateway, "/v1/models")).status == 401
        got = await get(gateway, "/healthz")
        assert (got.status, orjson.loads(got.body)) == (200, {"status": "ok"})
        assert (await get(gateway, "/healthz", host="evil.example")).status == 421
        got = await get(gateway, "/readyz")
        assert (got.status, orjson.loads(got.body)) == (200, {"status": "ready"})
        monkeypatch.setattr(gateway.service.parts.journal, "sharing_counts", lambda: SharingCounts(is_away=True))
        got = await get(gateway, "/readyz")
        assert (got.status, orjson.loads(got.body)) == (503, {"status": "not ready"})
        assert (await get(gateway, "/healthz")).status == 200
        assert gateway.fake.chats == []


# Vectors.


@asynccontextmanager
async def with_vectors(folder: Path, **memory: Any) -> AsyncIterator[tuple[Standing, OpenAIVectors]]:
    """A gateway whose memories have vectors of a server."""
    fake = OpenAIVectors(reactor)
    async with serve(fake, reactor) as url:
        settings = {"vectors": "openai", "vectors_url": f"{url}/v1", "vectors_model": "tiny-vectors", **memory}
        async with standing(folder, [], memory=settings) as gateway:
            yield gateway, fake


@pytest.mark.parametrize("form", ["float", "base64", None])
@pytest_twisted.ensureDeferred
async def test_openai_s_client_gets_vectors(tmp_path: Path, form: str | None) -> None:
    """Its client asks for base64 unless told otherwise, and decodes it."""
    async with with_vectors(tmp_path) as (gateway, fake):

        def made() -> Any:
            with gateway.openai() as client:
                more: dict[str, Any] = {} if form is None else {"encoding_format": form}
                return client.embeddings.create(model="tiny-vectors", input=TEXTS, **more)

        answer = await gateway.in_thread(made)
        assert [one.index for one in answer.data] == [0, 1, 2]
        assert answer.model == "tiny-vectors"
        assert answer.usage.prompt_tokens == answer.usage.total_tokens > 9
        if form == "base64":
            assert isinstance(answer.data[0].embedding, str)
            return
        well, mill, asked = (one.embedding for one in answer.data)
        assert len(well) == 64
        assert sum(number * number for number in well) == pytest.approx(1)
        near, far = (sum(a * b for a, b in zip(asked, other, strict=True)) for other in (well, mill))
        assert near > far
        assert len(fake.embeds) == 1


@pytest_twisted.ensureDeferred
async def test_one_text_needs_no_list_and_the_model_is_listed(tmp_path: Path) -> None:
    async with with_vectors(tmp_path) as (gateway, _):
        got = await ask(gateway, "/embeddings", {"model": "tiny-vectors", "input": "Hi", "dimensions": 64, "user": "u"})
        assert (got.status, len(orjson.loads(got.body)["data"])) == (200, 1)
        listed = orjson.loads((await get(gateway, "/v1/models")).body)
        assert [one["id"] for one in listed["data"]] == ["wise", "tiny-vectors"]


@pytest_twisted.ensureDeferred
async def test_the_embedded_model_of_vectors_is_offered_and_not_started(tmp_path: Path) -> None:
    async with standing(tmp_path, [], memory={"vectors": "embedded"}) as gateway:
        listed = orjson.loads((await get(gateway, "/v1/models")).body)
        assert [one["id"] for one in listed["data"]] == ["wise", MINILM.name]
        got = await ask(gateway, "/v1/embeddings", {"model": MINILM.name, "input": ""})
        assert (got.status, "input" in got.text) == (400, True)


REFUSED: dict[str, tuple[Mapping[str, Any], int, str]] = {
    "no model": ({"input": "a"}, 400, "model"),
    "another model": ({"model": "text-embedding-3-small", "input": "a"}, 404, "tiny-vectors"),
    "no text": ({"model": "tiny-vectors"}, 400, "input"),
    "a blank text": ({"model": "tiny-vectors", "input": ["a", " "]}, 400, "input"),
    "tokens": ({"model": "tiny-vectors", "input": [1, 2, 3]}, 400, "input"),
    "lists of tokens": ({"model": "tiny-vectors", "input": [[1, 2], [3]]}, 400, "input"),
    "too many": ({"model": "tiny-vectors", "input": ["a"] * 2049}, 400, "input"),
    "another length": ({"model": "tiny-vectors", "input": "a", "dimensions": 32}, 400, "dimensions"),
    "another form": ({"model": "tiny-vectors", "input": "a", "encoding_format": "hex"}, 400, "encoding_format"),
    "what is not known": ({"model": "tiny-vectors", "input": "a", "input_type": "query"}, 400, "input_type"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest_twisted.ensureDeferred
async def test_what_cannot_be_made_into_vectors_is_refused_by_name(tmp_path: Path, what: str) -> None:
    body, status, word = REFUSED[what]
    async with with_vectors(tmp_path) as (gateway, _):
        got = await ask(gateway, "/v1/embeddings", body)
        assert (got.status, word in got.text) == (status, True)


@pytest_twisted.ensureDeferred
async def test_without_vectors_it_is_said_what_to_set(tmp_path: Path) -> None:
    async with standing(tmp_path, []) as gateway:
        got = await ask(gateway, "/v1/embeddings", {"model": "any", "input": "a"})
        assert (got.status, "[memory] vectors" in got.text) == (404, True)
        assert (await get(gateway, "/v1/embeddings")).status == 405


@pytest_twisted.ensureDeferred
async def test_a_key_pays_for_vectors_and_has_its_models_and_its_ends(tmp_path: Path) -> None:
    async with with_vectors(tmp_path) as (gateway, fake):
        keys = {
            "some": key_of(gateway, "some", KeyLimits(models=("wise",))),
            "few": key_of(gateway, "few", KeyLimits(day=Allowance(calls=1))),
            "alone": key_of(gateway, "alone", KeyLimits(in_flight=1)),
        }
        await gateway.gateway._keys.refresh()
        body = {"model": "tiny-vectors", "input": TEXTS}
        assert (await ask(gateway, "/v1/embeddings", body)).status == 401
        assert (await ask(gateway, "/v1/embeddings", body, x_api_key=keys["some"])).status == 404
        assert (await ask(gateway, "/v1/embeddings", body, x_api_key=keys["few"])).status == 200
        assert gateway.service.parts.ledger.spent("key:few").calls == 1
        assert (await ask(gateway, "/v1/embeddings", body, x_api_key=keys["few"])).status == 429
        for _ in range(2):  # one after the other
            assert (await ask(gateway, "/v1/embeddings", body, x_api_key=keys["alone"])).status == 200
        assert len(fake.embeds) == 3
        fake.vectors.steps.append(HttpError(400, "no"))
        got = await ask(gateway, "/v1/embeddings", body, x_api_key=key_of(gateway, "late"))
        assert got.status == 401, "its key is known a second later"


@pytest_twisted.ensureDeferred
async def test_a_server_of_vectors_that_fails_is_told_as_any_other(tmp_path: Path) -> None:
    async with with_vectors(tmp_path) as (gateway, fake):
        fake.vectors.steps.extend([HttpError(500, "out of memory")] * 9)
        gateway.service.parts.pipeline.configuration_changed()
        got = await ask(gateway, "/v1/embeddings", {"model": "tiny-vectors", "input": "a"})
        assert (got.status, "out of memory" in got.text) == (502, True)


# Legacy completions.


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("provider", FAKES)
@pytest_twisted.ensureDeferred
async def test_openai_s_client_gets_a_legacy_completion(tmp_path: Path, provider: str, *, streams: bool) -> None:
    async with standing(tmp_path, [HERE], provider=provider) as gateway:

        def asked() -> tuple[str, Any, Any]:
            with gateway.openai() as client:
                said: dict[str, Any] = {"model": "wise", "prompt": "Where is the well?", "max_tokens": 50}
                if not streams:
                    whole = client.completions.create(**said)
                    return whole.choices[0].text, whole.choices[0].finish_reason, whole.usage
                told = client.completions.create(**said, stream=True, stream_options={"include_usage": True})
                chunks = list(told)
                texts = [choice for chunk in chunks for choice in chunk.choices]
                return "".join(one.text for one in texts), texts[-1].finish_reason, chunks[-1].usage

        text, finish, usage = await gateway.in_thread(asked)
        assert (text, finish) == (HERE.text, "stop")
        assert (usage.prompt_tokens, usage.completion_tokens) == (7, 3)
        (request,) = gateway.fake.chats
        assert "Where is the well?" in str(request.body)


LEGACY: dict[str, tuple[Mapping[str, Any], str]] = {
    "several prompts": ({"prompt": ["a", "b"]}, "prompt"),
    "tokens": ({"prompt": [1, 2]}, "prompt"),
    "none": ({}, "prompt"),
    "a suffix": ({"prompt": "a", "suffix": "b"}, "suffix"),
    "an echo": ({"prompt": "a", "echo": True}, "echo"),
    "logprobs": ({"prompt": "a", "logprobs": 0}, "logprobs"),
    "two": ({"prompt": "a", "n": 2}, "n"),
    "turns": ({"prompt": "a", "messages": []}, "messages"),
}


@pytest.mark.parametrize("what", LEGACY)
@pytest_twisted.ensureDeferred
async def test_what_a_legacy_completion_cannot_have_is_refused_by_name(tmp_path: Path, what: str) -> None:
    body, field = LEGACY[what]
    async with standing(tmp_path, []) as gateway:
        got = await ask(gateway, "/v1/completions", {"model": "wise", **body})
        assert (got.status, orjson.loads(got.body)["error"]["param"]) == (400, field)


@pytest_twisted.ensureDeferred
async def test_a_legacy_stream_ends_as_it_should(tmp_path: Path) -> None:
    async with standing(tmp_path, [HERE, EndEarly(3, HERE), Reply("Hm.", "I think.")]) as gateway:
        body = {"model": "wise", "prompt": ["Where?"], "stream": True, "echo": False, "best_of": 1}
        good = await ask(gateway, "/v1/completions", body)
        assert good.body.endswith(b"data: [DONE]\n\n")
        assert all("usage" not in one for one in events(good))
        assert {one["object"] for one in events(good)} == {"text_completion"}
        broken = await ask(gateway, "/v1/completions", body)
        assert ("error" in events(broken)[-1], b"[DONE]" in broken.body) == (True, False)
        assert b"think" not in (await ask(gateway, "/v1/completions", body)).body


# Ollama's generate.


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("provider", FAKES)
@pytest_twisted.ensureDeferred
async def test_ollama_s_client_generates(tmp_path: Path, provider: str, *, streams: bool) -> None:
    async with standing(tmp_path, [HERE], provider=provider) as gateway:

        def asked() -> list[Any]:
            client = gateway.ollama()
            try:
                said: dict[str, Any] = {"model": "wise", "prompt": "Where is the well?", "system": "Be brief."}
                if streams:
                    return list(client.generate(**said, stream=True))
                return [client.generate(**said, options={"temperature": 0.1})]
            finally:
                client._client.close()

        pieces = await gateway.in_thread(asked)
        assert "".join(piece.response for piece in pieces) == HERE.text
        last = pieces[-1]
        assert (last.done, last.done_reason, last.prompt_eval_count, last.eval_count) == (True, "stop", 7, 3)
        assert (len(pieces) > 1) == streams
        assert "Be brief." in str(gateway.fake.chats[0].body)


@pytest_twisted.ensureDeferred
async def test_generate_shows_thoughts_and_loads_and_refuses(tmp_path: Path) -> None:
    async with standing(tmp_path, [Reply("Hm.", "I think.")], provider="ollama") as gateway:
        got = await ask(gateway, "/api/generate", {"model": "wise", "prompt": "Well?", "think": True})
        assert "".join(one.get("thinking", "") for one in events(got)) == "I think."
        assert got.headers["content-type"] == "application/x-ndjson"
        asked = len(gateway.fake.chats)
        loaded = orjson.loads((await ask(gateway, "/api/generate", {"model": "wise"})).body)
        assert (loaded["done"], loaded["done_reason"], loaded["response"]) == (True, "load", "")
        for field, value in (("raw", True), ("template", "{{ .Prompt }}"), ("suffix", "b"), ("context", [1, 2])):
            refused = await ask(gateway, "/api/generate", {"model": "wise", "prompt": "a", field: value})
            assert (refused.status, field in orjson.loads(refused.body)["error"]) == (400, True)
        assert len(gateway.fake.chats) == asked


# Who answered, and for how much.

PRICES = {"prices": {"input": 2.0, "output": 10.0}}


@pytest.mark.parametrize(("dialect", "provider"), [*SPEAKERS.items(), ("chat", "anthropic"), ("responses", "local")])
@pytest_twisted.ensureDeferred
async def test_who_answered_and_for_how_much_is_told_in_headers(tmp_path: Path, dialect: str, provider: str) -> None:
    async with standing(tmp_path, [HERE, HERE], provider=provider, more=PRICES) as gateway:
        whole = (await ask(gateway, PATHS[dialect], body_of(dialect, streams=False))).headers
        assert whole["x-mud-assistant-model"] == f"{provider}/sage"
        assert whole["x-mud-assistant-cost"] == "0.000044"
        stream = (await ask(gateway, PATHS[dialect], body_of(dialect))).headers
        assert stream["x-mud-assistant-model"] == f"{provider}/sage"
        assert stream["x-mud-assistant-prices"] == "input=2, output=10"
        assert "x-mud-assistant-cost" not in stream, "it is not known when a stream begins"
        assert "x-mud-assistant-fallback" not in whole


@pytest.mark.parametrize("streams", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_fallback_is_told(tmp_path: Path, *, streams: bool) -> None:
    async with standing(tmp_path, [HttpError(503)], fallback=[("anthropic", [HERE])]) as gateway:

        def asked() -> Mapping[str, str]:
            with gateway.openai() as client:
                raw = client.chat.completions.with_raw_response.create(
                    model="wise", messages=[{"role": "user", "content": "Where?"}], stream=streams
                )
                return dict(raw.headers)

        headers = await gateway.in_thread(asked)
        assert headers["x-mud-assistant-model"] == "anthropic/sage"
        assert headers["x-mud-assistant-fallback"] == "1"
        assert "x-mud-assistant-cost" not in headers


@pytest_twisted.ensureDeferred
async def test_a_key_has_a_rate_of_its_own(tmp_path: Path) -> None:
    async with standing(tmp_path, [HERE] * 5) as gateway:
        slow = key_of(gateway, "slow", KeyLimits(per_second=2))
        quick = key_of(gateway, "quick")
        await gateway.gateway._keys.refresh()
        body = body_of("chat", streams=False)
        first = await ask(gateway, PATHS["chat"], body, x_api_key=slow)
        assert (first.status, first.headers["x-ratelimit-limit-requests"]) == (200, "2")
        statuses = [(await get(gateway, "/v1/models", x_api_key=slow)).status for _ in range(9)]
        assert {*statuses} == {200, 429}
        assert (await ask(gateway, PATHS["chat"], body, x_api_key=quick)).status == 200
