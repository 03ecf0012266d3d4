"""Cases that concern the whole gateway: what stands at its paths, what requests carry, where a chain goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_twisted

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.gateway.models import GatewayModels
from mud_assistant.llm.testing import HttpError, RefuseTools, Reply, Step
from tests.assistant.gateway.asking import LANES, PATHS, ask, body_of, events, get
from tests.assistant.gateway.standing import CLIENTS, TOOL, standing

HERE = Reply("Here.", usage=(7, 3))
ANTHROPIC = {"anthropic_version": "2023-06-01"}


@pytest_twisted.ensureDeferred
async def test_models_are_listed_as_each_client_reads_them(tmp_path: Path) -> None:
    async with standing(tmp_path, []) as gateway:
        for path in ("/v1/models", "/models", "/v1/models/"):
            listed = orjson.loads((await get(gateway, path)).body)
            assert (listed["object"], [one["id"] for one in listed["data"]]) == ("list", ["wise"])
        listed = orjson.loads((await get(gateway, "/v1/models", **ANTHROPIC)).body)
        assert (listed["has_more"], listed["data"][0]["type"]) == (False, "model")
        assert orjson.loads((await get(gateway, "/v1/models/wise")).body)["id"] == "wise"
        assert orjson.loads((await get(gateway, "/v1/models/gpt-4o-mini", **ANTHROPIC)).body)["type"] == "model"
        missing = await get(gateway, "/v1/models/unknown")
        assert (missing.status, "wise" in missing.text) == (404, True)
        tags = orjson.loads((await get(gateway, "/api/tags")).body)
        assert [one["name"] for one in tags["models"]] == ["wise"]
        for name in ("wise", "wise:latest", "gpt-4o-mini:latest"):
            shown = orjson.loads((await ask(gateway, "/api/show", {"model": name})).body)
            assert "tools" in shown["capabilities"]
            assert any(key.endswith(".context_length") for key in shown["model_info"])
        assert orjson.loads((await get(gateway, "/api/ps")).body) == {"models": []}
        assert "version" in orjson.loads((await get(gateway, "/api/version")).body)


@pytest_twisted.ensureDeferred
async def test_the_embedded_model_is_listed_with_its_own_window(tmp_path: Path) -> None:
    fallback = {"provider": "local", "model": "sage", "url": "http://127.0.0.1:9/v1"}
    small = {"provider": "embedded", "fallback": [fallback]}
    inputs = Config.model_validate(
        {"gateway": {"models": {"small": small, "big": {**fallback, "context_tokens": 9000}}}}
    )
    async with standing(tmp_path, []) as gateway:
        models = GatewayModels(gateway.service.parts, inputs.gateway, inputs, 0)
        sizes = {one.name: one.context_tokens for one in models.offered(lambda _: True)}
    assert sizes == {"small": 4096, "big": 9000}


@pytest_twisted.ensureDeferred
async def test_what_stands_at_the_root_and_at_paths_that_are_none(tmp_path: Path) -> None:
    async with standing(tmp_path, []) as gateway:
        assert (await get(gateway, "/")).body == b"Ollama is running"
        for path, shape in (("/v1/files", "error"), ("/api/pull", "error"), ("/v1/messages/batches", "type")):
            got = await ask(gateway, path, {})
            assert (got.status, shape in orjson.loads(got.body)) == (404, True)
        assert isinstance(orjson.loads((await ask(gateway, "/api/pull", {})).body)["error"], str)
        got = await get(gateway, "/v1/chat/completions")
        assert got.status == 405
        assert "twice" in (await ask(gateway, "/v1/v1/messages", {})).text
        for path in ("/v1/responses/resp_1", "/v1/responses/compact"):
            assert (await get(gateway, path)).status == 404


@pytest.mark.parametrize("dialect", PATHS)
@pytest_twisted.ensureDeferred
async def test_a_request_without_a_model_is_told_so_and_one_for_another_which_there_are(
    tmp_path: Path, dialect: str
) -> None:
    async with standing(tmp_path, []) as gateway:
        for model in (None, "", 7):
            got = await ask(gateway, PATHS[dialect], body_of(dialect, model=model))
            assert (got.status, "model is missing" in got.text) == (400, True)
        got = await ask(gateway, PATHS[dialect], body_of(dialect, model="gpt-9"))
        assert (got.status, "wise" in got.text, "gpt-9" in got.text) == (404, True, True)
        assert gateway.fake.chats == []


@pytest.mark.parametrize("name", ["wise", "gpt-4o-mini", "wise:latest"])
@pytest_twisted.ensureDeferred
async def test_a_model_is_asked_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    async with standing(tmp_path, [HERE] * 2, provider="ollama") as gateway:
        for dialect in ("ollama", "chat"):
            got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=False, model=name))
            assert got.status == 200
        assert {request.model for request in gateway.fake.chats} == {"sage"}


@pytest_twisted.ensureDeferred
async def test_both_names_of_the_limit_are_refused_before_another_dialect(tmp_path: Path) -> None:
    async with standing(tmp_path, [HERE], provider="anthropic") as gateway:
        got = await ask(gateway, PATHS["chat"], body_of("chat", max_tokens=5, max_completion_tokens=6))
        assert (got.status, orjson.loads(got.body)["error"]["param"]) == (400, "max_tokens")


@pytest_twisted.ensureDeferred
async def test_sampling_reaches_ollama_among_its_options(tmp_path: Path) -> None:
    said: dict[str, Any] = {
        "top_p": 0.5,
        "top_k": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "parallel_tool_calls": False,
    }
    async with standing(tmp_path, [HERE], provider="ollama") as gateway:
        tools = [{"type": "function", "function": {"name": "look", "parameters": TOOL}}]
        got = await ask(gateway, PATHS["chat"], body_of("chat", temperature=0.3, tools=tools, seed=4, **said))
        assert got.status == 200
        (request,) = gateway.fake.chats
        options: Any = request.body["options"]
        sampling = {name: value for name, value in said.items() if name != "parallel_tool_calls"}
        assert {**sampling, "temperature": 0.3, "seed": 4}.items() <= options.items()
        assert not set(said) & set(request.body)


@pytest_twisted.ensureDeferred
async def test_anthropic_gets_of_sampling_what_it_has(tmp_path: Path) -> None:
    said: dict[str, Any] = {
        "top_p": 0.5,
        "top_k": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "min_p": 0.1,
        "seed": 4,
    }
    async with standing(tmp_path, [HERE], provider="anthropic") as gateway:
        tools = [{"type": "function", "function": {"name": "look", "parameters": TOOL}}]
        body = body_of("chat", tools=tools, parallel_tool_calls=False, stop=["END"], **said)
        assert (await ask(gateway, PATHS["chat"], body)).status == 200
        (request,) = gateway.fake.chats
        assert {name: request.body[name] for name in said if name in request.body} == {"top_p": 0.5, "top_k": 7}
        assert request.body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
        assert request.body["stop_sequences"] == ["END"]
        assert "parallel_tool_calls" not in request.body


#: The conversations of one dialect that end with the assistant, before each provider.
PREFILLED = [
    ("chat", "anthropic", 200), ("messages", "ollama", 200), ("messages", "anthropic", 200), ("chat", "ollama", 200),
    ("ollama", "ollama", 200), ("chat", "local", 200), ("messages", "local", 400), ("ollama", "local", 400),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "provider", "status"), PREFILLED)
@pytest_twisted.ensureDeferred
async def test_a_turn_is_continued_where_the_provider_does_so(
    tmp_path: Path, dialect: str, provider: str, status: int
) -> None:
    async with standing(tmp_path, [HERE], provider=provider) as gateway:
        said = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "The miller,"}]
        got = await ask(gateway, PATHS[dialect], body_of(dialect, messages=said))
        assert got.status == status
        if status == 200:
            assert "The miller," in str(gateway.fake.chats[0].messages[-1])
            assert gateway.fake.chats[0].messages[-1]["role"] == "assistant"
        else:
            assert "cannot continue" in got.text


#: A model that cannot answer, and the one of another dialect that does.
FALLBACKS = [
    ("chat", "local", "anthropic"), ("chat", "anthropic", "local"), ("messages", "anthropic", "ollama"),
    ("messages", "ollama", "anthropic"), ("ollama", "ollama", "local"), ("responses", "anthropic", "ollama"),
]  # fmt: skip


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("dialect", "first", "second"), FALLBACKS)
@pytest_twisted.ensureDeferred
async def test_the_next_model_of_another_dialect_answers(
    tmp_path: Path, dialect: str, first: str, second: str, *, streams: bool
) -> None:
    fallback = [(second, [HERE])]
    async with standing(tmp_path, [HttpError(503)], provider=first, fallback=fallback) as gateway:
        got = await gateway.in_thread(lambda: CLIENTS[dialect](gateway, streams=streams))
        assert got.text == "Here."
        assert (len(gateway.fake.chats), len(gateway.others[0].chats)) == (1, 1)


#: A model that takes no tools: it is asked again, for calls as text.
AS_TEXT: list[Step] = [
    RefuseTools(),
    Reply('I look.\n```json\n{"tool": "look", "arguments": {"place": "mill"}}\n```'),
]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("dialect", "provider"), [("chat", "local"), ("messages", "local"), ("responses", "local"),
                                                   ("ollama", "ollama"), ("messages", "ollama")])  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_calls_that_a_model_writes_as_text_are_calls_for_the_client(
    tmp_path: Path, dialect: str, provider: str, *, streams: bool
) -> None:
    async with standing(tmp_path, AS_TEXT, provider=provider) as gateway:
        got = await gateway.in_thread(lambda: CLIENTS[dialect](gateway, streams=streams, tools=True))
        assert got.calls == (("look", {"place": "mill"}),)
        assert "{" not in got.text
        assert [bool(request.tools) for request in gateway.fake.chats] == [True, False]


@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_ids_are_of_the_request_and_stable(tmp_path: Path, dialect: str, provider: str) -> None:
    async with standing(tmp_path, [HERE, HERE], provider=provider) as gateway:
        for streams in (True, False):
            got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=streams))
            assert got.headers["request-id"] == got.headers["x-request-id"]
            assert got.headers["request-id"].startswith("req_")
            if (dialect, provider) in {("chat", "anthropic"), ("messages", "local"), ("responses", "local")}:
                own = got.headers["request-id"].removeprefix("req_")
                prefix = {"chat": "chatcmpl-", "messages": "msg_", "responses": "resp_"}[dialect]
                assert f"{prefix}{own}" in got.text
                if dialect == "chat" and streams:
                    assert {event["id"] for event in events(got)} == {f"{prefix}{own}"}


@pytest_twisted.ensureDeferred
async def test_tokens_are_counted_by_anthropic_and_else_estimated_and_nothing_is_billed(tmp_path: Path) -> None:
    tools = [{"name": "look", "input_schema": TOOL}]
    body = {key: value for key, value in body_of("messages").items() if key not in {"max_tokens", "stream"}}
    for provider in ("anthropic", "local"):
        async with standing(tmp_path, [], provider=provider) as gateway:
            counts = []
            for asked in (body, {**body, "tools": tools}):
                got = await ask(gateway, "/v1/messages/count_tokens?beta=true", asked)
                assert got.status == 200
                counts.append(orjson.loads(got.body)["input_tokens"])
            assert 0 < counts[0] <= counts[1]
            paths = [request.path for request in gateway.fake.requests if request.method == "POST"]
            assert paths == (["/v1/messages/count_tokens"] * 2 if provider == "anthropic" else [])
            assert gateway.service.parts.ledger.spent("key:anyone").tokens == 0
            assert (await ask(gateway, "/v1/messages/count_tokens", {"model": "unknown"})).status == 404
