"""Answers held to a schema: natively, in words, and always checked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from mud_assistant.llm import Capabilities, FinishReason, ToolSpec, UnifiedLLMClient, get_provider, system, user
from mud_assistant.llm.errors import SchemaMismatch
from mud_assistant.llm.modes.structured import find_problem, is_strict
from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, FakeServer, HttpError, Raw, Reply, Script, serve
from mud_assistant.resilience import HttpExchange, Limits
from tests.llm.test_client import ONCE

reactor: Any = _reactor
LOOK = ToolSpec("look", "Look round.", {"type": "object", "properties": {}})


class Exit(BaseModel):
    to: str = Field(min_length=1)
    doors: int = Field(default=0, ge=0, le=3)


class Place(BaseModel):
    name: str
    kind: Literal["inn", "well"]
    exits: list[Exit] = []
    note: str | None = None


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"mood": {"enum": ["glad", "sad"]}, "age": {"type": "integer", "minimum": 0}},
    "required": ["mood"],
    "additionalProperties": False,
}
GOOD = '{"mood": "glad", "age": 3}'


@asynccontextmanager
async def client_of(name: str, script: Script, *, formats: bool = True) -> AsyncIterator[tuple[Any, FakeServer]]:
    fake: FakeServer = FakeOllama(reactor, script) if name == "ollama" else FakeChat(reactor, script, formats=formats)
    exchange = HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        provider = get_provider(name, url if name == "ollama" else f"{url}/v1", "sage")
        try:
            yield UnifiedLLMClient(provider, exchange, reactor, capabilities=Capabilities(), retry=ONCE), fake
        finally:
            await exchange.close()


@pytest.mark.parametrize("name", ["ollama", "local", "openai", "openrouter"])
async def test_a_schema_goes_to_the_provider_and_its_value_comes_back(name: str) -> None:
    async with client_of(name, [Reply(GOOD)]) as (client, fake):
        answer = await client.chat_completion([user("how are you?")], schema=SCHEMA)
        assert answer.structured == {"mood": "glad", "age": 3}
        sent = fake.chats[0].body
        wanted = sent.get("format") or sent["response_format"]["json_schema"]["schema"]
        assert wanted == SCHEMA
        assert len(fake.chats[0].messages) == 1


async def test_a_model_class_gives_an_instance() -> None:
    async with client_of("local", [Reply('{"name":"Fox","kind":"inn","exits":[{"to":"mill"}]}')]) as (client, _):
        answer = await client.chat_completion([user("where?")], schema=Place)
        assert answer.structured == Place(name="Fox", kind="inn", exits=[Exit(to="mill")])


async def test_a_server_without_formats_is_asked_in_words_and_remembered() -> None:
    said = f"Of course!\n```json\n{GOOD}\n```\nAnything else?"
    async with client_of("local", [Reply(said), Reply(GOOD)], formats=False) as (client, fake):
        answer = await client.chat_completion([system("You are Sage."), user("how are you?")], schema=SCHEMA)
        assert answer.structured == {"mood": "glad", "age": 3}
        assert client.record.schema is False
        told = fake.chats[1].messages[0]["content"]
        assert "You are Sage." in told
        assert '"enum":["glad","sad"]' in told
        await client.chat_completion([user("again")], schema=SCHEMA)
        assert len(fake.chats) == 3
        assert "response_format" not in fake.chats[2].body


async def test_a_schema_the_provider_cannot_take_says_nothing_of_the_model() -> None:
    refusal = HttpError(400, "Invalid schema for response_format 'answer': 'required' is missing")
    async with client_of("openai", [refusal, Reply(GOOD)]) as (client, _):
        assert (await client.chat_completion([user("x")], schema=SCHEMA)).structured
        assert client.record.schema is None


@pytest.mark.parametrize(
    "text",
    [
        "I am glad.",
        "",
        '{"mood": "angry"}',
        '{"age": 3}',
        '{"mood": "glad", "age": -1}',
        '{"mood": "sad", "x": 1}',
        "true",
    ],
)
async def test_what_does_not_match_is_a_typed_error_with_the_text(text: str) -> None:
    async with client_of("local", [Reply(text)]) as (client, _):
        with pytest.raises(SchemaMismatch) as caught:
            await client.chat_completion([user("x")], schema=SCHEMA)
        assert caught.value.answer == text


async def test_an_answer_cut_off_matches_nothing() -> None:
    async with client_of("local", [Reply(GOOD, finish="length")]) as (client, _):
        with pytest.raises(SchemaMismatch, match="cut off"):
            await client.chat_completion([user("x")], schema=SCHEMA)


async def test_calls_come_before_the_answer() -> None:
    async with client_of("local", [Reply(calls=(Call("look"),))]) as (client, _):
        answer = await client.chat_completion([user("x")], [LOOK], schema=SCHEMA)
        assert answer.has_tool_calls
        assert answer.structured is None


async def test_65_a_refusal_is_filtered_and_not_checked() -> None:
    body = b'{"choices":[{"message":{"content":null,"refusal":"I must not."},"finish_reason":"stop"}]}'
    async with client_of("openai", [Raw(200, {"Content-Type": "application/json"}, [body])]) as (client, _):
        answer = await client.chat_completion([user("x")], schema=SCHEMA)
        assert answer.finish_reason is FinishReason.FILTERED
        assert answer.content == "I must not."
        assert answer.structured is None


@pytest.mark.parametrize(
    ("value", "schema", "where"),
    [
        (1, {"type": "string"}, "$: not of type string"),
        (True, {"type": "integer"}, "$: not of type integer"),
        (1.0, {"type": "integer"}, ""),
        (1.5, {"type": ["integer", "null"]}, "$: not of type integer or null"),
        (True, {"const": 1}, "$: not 1"),
        (0, {"enum": [False]}, "$: not one of [false]"),
        ("x", {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 0}]}, "$: matches none of the 2 forms"),
        ({"a": [1, "x"]}, {"properties": {"a": {"items": {"type": "integer"}}}}, "$.a[1]: not of type integer"),
        ({"a": 1}, {"additionalProperties": {"type": "string"}}, "$.a: not of type string"),
        ({"a": 1}, {"properties": {}, "additionalProperties": False}, "$.a: not allowed"),
        ([1], {"minItems": 2}, "$: shorter than 2"),
        ([1, 2], {"maxItems": 1}, "$: longer than 1"),
        (5, {"exclusiveMaximum": 5}, "$: not less than 5"),
        (5, {"exclusiveMinimum": 5}, "$: not more than 5"),
        (5, {"maximum": 4}, "$: more than 4"),
        (["a", 1], {"prefixItems": [{"type": "string"}], "items": {"type": "string"}}, "$[1]: not of type string"),
        (3, {"allOf": [{"minimum": 1}, {"minimum": 4}]}, "$: less than 4"),
        ({"x": 1}, {"$ref": "#/$defs/A", "$defs": {"A": {"required": ["y"]}}}, "$: 'y' is missing"),
        (1, {"unknown-keyword": True}, ""),
    ],
)
def test_the_checker_names_the_place(value: Any, schema: Any, where: str) -> None:
    found = find_problem(value, schema)
    assert found.startswith(where) if where else not found


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert "too deep" in find_problem({"a": 1}, {"$ref": "#"})


PLACES = st.builds(
    Place,
    name=st.text(max_size=5),
    kind=st.sampled_from(["inn", "well"]),
    exits=st.lists(st.builds(Exit, to=st.text(min_size=1, max_size=5), doors=st.integers(0, 3)), max_size=3),
    note=st.none() | st.text(max_size=5),
)


@given(PLACES)
def test_what_pydantic_writes_matches_what_pydantic_describes(place: Place) -> None:
    assert find_problem(place.model_dump(mode="json"), Place.model_json_schema()) == ""


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "kind", "exits", "to"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(ANY)
def test_whatever_pydantic_refuses_strictly_is_refused(value: Any) -> None:
    try:
        Place.model_validate(value, strict=True)
    except ValueError:
        assert find_problem(value, Place.model_json_schema())
    else:
        assert not find_problem(value, Place.model_json_schema())


def test_a_strict_schema_closes_and_requires_everything() -> None:
    assert is_strict({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    assert not is_strict(SCHEMA)
    assert not is_strict({"type": "array", "items": SCHEMA})
