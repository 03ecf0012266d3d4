"""A request of the provider's own dialect goes through as bytes, but for three edits."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest
import pytest_twisted

from mud_assistant.llm.testing import HttpError, Raw, Reply
from tests.assistant.gateway.asking import PATHS, SPEAKERS, ask, body_of
from tests.assistant.gateway.standing import standing

#: What a client of today may send and we know nothing of: spaces, an order, numbers and escapes of its own.
STRANGE = b"""{ "messages" : [ {"role":"user","content":[
  {"type":"text","text":"a \\u00e9 \\"model\\": \\"wise\\"","cache_control":{"type":"ephemeral","ttl":"1h"}},
  {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"so","signature":"EqQBCgIYAhIM=="},
  {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"wells","model":"wise"}}]},
  {"role":"user","content":"and?"} ],
 "max_tokens":100, "model" :"wise", "temperature":1.0, "tools":[ {"type":"web_search_20250305","name":"web_search"},
  {"name":"pick","input_schema":{"type":"object","properties":{"model":{"type":"string","enum":["wise"]}}}} ],
 "context_management":{"edits":[]}, "x_new_field":[1e3,0.10,null,"\\ud83d\\ude00"], "stream":%s}"""


@pytest.mark.parametrize("streams", [True, False])
@pytest_twisted.ensureDeferred
async def test_every_byte_but_the_name_of_the_model_is_as_it_was(tmp_path: Path, *, streams: bool) -> None:
    sent = STRANGE % (b"true" if streams else b"false")
    settings = {"forwarded_fields": ["x_new_field"]}
    async with standing(tmp_path, [Reply("Here.")] * 2, provider="anthropic", settings=settings) as gateway:
        headers = {
            "anthropic-beta": "context-management-2025-06-27,new-thing-2027-01-01",
            "anthropic-version": "2023-06-01",
            "cookie": "session=mine",
            "x-forwarded-for": "10.0.0.9",
            "authorization": "Bearer of-the-client",
        }
        assert (await ask(gateway, "/v1/messages?beta=true", sent, **headers)).status == 200
        packed = gzip.compress(sent)
        got = await ask(gateway, "/v1/messages", packed, **headers, content_encoding="gzip")
        assert got.status == 200
        for request in gateway.fake.chats:
            assert request.raw == sent.replace(b'"model" :"wise"', b'"model" :"sage"')
            assert request.headers["anthropic-beta"] == "context-management-2025-06-27,new-thing-2027-01-01"
            assert request.headers["x-api-key"] == "planted-provider-key"
            assert not {"cookie", "x-forwarded-for", "authorization", "content-encoding"} & {*request.headers}
            assert request.headers["x-mud-assistant-hops"] == "1"


@pytest_twisted.ensureDeferred
async def test_the_provider_s_own_betas_are_kept_beside_those_of_the_client(tmp_path: Path) -> None:
    more = {"betas": ["owner-2026-01-01", "both-2026-02-02"]}
    async with standing(tmp_path, [Reply("Here.")], provider="anthropic", more=more) as gateway:
        beta = {"anthropic-beta": "both-2026-02-02, mine-2026-03-03"}
        await ask(gateway, "/v1/messages", body_of("messages"), **beta)
        (request,) = gateway.fake.chats
        assert request.headers["anthropic-beta"] == "owner-2026-01-01,both-2026-02-02,mine-2026-03-03"


@pytest.mark.parametrize(("dialect", "provider"), SPEAKERS.items())
@pytest_twisted.ensureDeferred
async def test_the_bytes_of_the_answer_are_those_of_the_provider(tmp_path: Path, dialect: str, provider: str) -> None:
    """Unknown events, spaces and fields too, however the bytes were cut."""
    kind = "application/x-ndjson" if dialect == "ollama" else "text/event-stream"
    streams = {
        "chat": b': hi\n\ndata: {"choices":[{"index":0,"delta":{"content":"\\u00e9","z":1e2},"finish_reason":null}]}'
        b'\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"strange":{}}\n\ndata: [DONE]\n\n',
        "messages": b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","role":"assistant",'
        b'"content":[],"usage":{"input_tokens":3,"output_tokens":1,"new":1}}}\n\nevent: brand_new\ndata: {"type":"brand'
        b'_new"}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":'
        b'"text","text":""}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        b'{"type":"text_delta","text":"A"}}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":0}'
        b'\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":'
        b'{"output_tokens":2}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
        "ollama": b'{"model":"sage","message":{"role":"assistant","content":"A"},"new" :1,"done":false}\n'
        b'{"model":"sage","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n',
    }
    said = streams[dialect]
    cuts = [said[at : at + 7] for at in range(0, len(said), 7)]
    async with standing(tmp_path, [Raw(200, {"Content-Type": kind}, cuts)], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect))
        assert got.body == said
        assert got.headers["content-type"].startswith(kind)


@pytest.mark.parametrize(("dialect", "provider"), SPEAKERS.items())
@pytest_twisted.ensureDeferred
async def test_a_whole_answer_is_that_of_the_provider(tmp_path: Path, dialect: str, provider: str) -> None:
    bodies = {
        "chat": b'{ "choices":[{"index":0,"message":{"role":"assistant","content":"A"},"finish_reason":"stop"}]}',
        "messages": b'{ "type":"message","id":"msg_1","role":"assistant","content":[{"type":"text","text":"A"}'
        b',{"type":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1},"container":{"id":"c"}}',
        "ollama": b'{ "model":"sage","message":{"role":"assistant","content":"A"},"done":true,"new":1}',
    }
    answer = Raw(200, {"Content-Type": "application/json"}, [bodies[dialect]])
    async with standing(tmp_path, [answer], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=False))
        assert got.body == bodies[dialect]


@pytest.mark.parametrize("provider", ["local", "anthropic"])
@pytest_twisted.ensureDeferred
async def test_what_a_refusal_taught_is_left_out_and_told(tmp_path: Path, provider: str) -> None:
    """In both lanes, from the very answer in whose call it was learned."""
    refusal = HttpError(400, "Unsupported parameter: 'temperature' is not supported with this model.")
    async with standing(tmp_path, [refusal, Reply("Here."), Reply("There.")], provider="local") as gateway:
        dialect = {"local": "chat", "anthropic": "messages"}[provider]
        for word in (b"Here", b"There"):
            got = await ask(gateway, PATHS[dialect], body_of(dialect, temperature=0.5))
            assert word in got.body
            assert got.headers["x-mud-assistant-amended"] == "temperature"
        got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=False))
        assert "x-mud-assistant-amended" not in got.headers
        assert ["temperature" in request.body for request in gateway.fake.chats] == [True, False, False, False]


@pytest_twisted.ensureDeferred
async def test_a_name_that_stands_twice_is_replaced_where_the_request_has_it(tmp_path: Path) -> None:
    sent = orjson.dumps(
        {"metadata": {"model": "wise"}, "model": "wise", "messages": [{"role": "user", "content": "Hi"}]}
    )
    async with standing(tmp_path, [Reply("Here.")]) as gateway:
        assert (await ask(gateway, PATHS["chat"], sent)).status == 200
        (request,) = gateway.fake.chats
        assert request.raw == sent.replace(b'"model":"wise","messages"', b'"model":"sage","messages"')
