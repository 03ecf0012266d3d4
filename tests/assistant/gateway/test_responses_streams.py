"""Streams for clients of the Responses API, through the gateway: held against the published schema, event by event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_twisted

from mud_assistant.llm.testing import Call, DieMidStream, EndEarly, ErrorInStream, Hang, HttpError, Raw, Reply, Step
from tests.assistant.gateway.asking import PATHS, ask, body_of, connect, post, whole
from tests.assistant.gateway.http.reached import until
from tests.assistant.gateway.skipping import skipping
from tests.assistant.gateway.standing import CLIENTS, TOOL, reactor, standing
from tests.assistant.page.http.visiting import Got
from tests.llm.dialects.responses.judge import events_of, final_response, judge, judge_whole
from tests.llm.dialects.test_recorded_streams import ROWS, Row
from tests.llm.providers.responses.answers import done, event, sse, text_item

PATH = PATHS["responses"]
PROVIDERS = ["local", "anthropic", "ollama"]
LOOKS = Reply("I look.", calls=(Call("look", {"place": "mill"}), Call("look", {"place": "oak"})))
LONG = Reply("The well lies north of the mill, past the old oak.", "Where might it be?")
TOOLS = [{"type": "function", "name": "look", "description": "Look.", "parameters": TOOL, "strict": True}]
TURNS = [
    {"role": "user", "content": [{"type": "input_text", "text": "My name is Oda."}]},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Well met.", "annotations": []}],
    },
    {"role": "user", "content": "Who am I?"},
]
CALLED = [
    {"role": "user", "content": "Look around."},
    {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"place":"mill"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "A mill."},
]
#: What is asked, and the answer: the cases of the specification's own suite.
ASKED: dict[str, tuple[dict[str, Any], Step]] = {
    "plain": ({}, Reply("North.")),
    "thoughts": ({}, LONG),
    "a system prompt": ({"instructions": "Be brief."}, Reply("North.")),
    "a system message": ({"input": [{"role": "system", "content": "Be brief."}, TURNS[0]]}, Reply("North.")),
    "calls": ({"tools": TOOLS}, LOOKS),
    "a call alone": ({"tools": TOOLS, "tool_choice": "required"}, Reply(calls=(Call("look", {"place": "a"}),))),
    "after a call": ({"tools": TOOLS, "input": CALLED}, Reply("A mill.")),
    "several turns": ({"input": TURNS}, Reply("You are Oda.")),
    "one piece": ({}, Reply("North.", chunk_size=1000)),
    "many pieces": ({}, Reply("The well lies north.", chunk_size=1)),
    "cut off": ({}, Reply("The well", finish="length")),
    "nothing": ({}, Reply("")),
}  # fmt: skip


def judged(got: Got) -> list[dict[str, Any]]:
    """The events of a stream that the judges find right, numbered from 0 without a gap."""
    assert got.status == 200
    events = events_of(got.body)
    judge(events)
    return events


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest_twisted.ensureDeferred
async def test_a_stream_is_right_event_by_event_and_says_what_the_whole_answer_says(
    tmp_path: Path, provider: str, what: str
) -> None:
    more, step = ASKED[what]
    async with standing(tmp_path, [step, step], provider=provider) as gateway:
        events = judged(await ask(gateway, PATH, body_of("responses", **more)))
        answer = judge_whole((await ask(gateway, PATH, body_of("responses", streams=False, **more))).body)
    last = events[-1]["response"]
    assert isinstance(step, Reply)
    texts = [part["text"] for item in last["output"] if item["type"] == "message" for part in item["content"]]
    assert "".join(texts) == step.text
    names = [item["name"] for item in last["output"] if item["type"] == "function_call"]
    assert names == [call.name for call in step.calls]
    assert [item["type"] for item in answer["output"]] == [item["type"] for item in last["output"]]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == step.text


BREAKS: dict[str, Step] = {
    "reset": DieMidStream(6, LONG),
    "early end": EndEarly(6, LONG),
    "error": ErrorInStream("it fell", 6, LONG),
}


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest_twisted.ensureDeferred
async def test_a_stream_that_breaks_is_right_up_to_its_end(tmp_path: Path, provider: str, how: str) -> None:
    async with standing(tmp_path, [BREAKS[how]], provider=provider) as gateway:
        assert judged(await ask(gateway, PATH, body_of("responses")))[-1]["type"] == "response.failed"


@pytest_twisted.ensureDeferred
async def test_the_next_model_s_stream_is_right(tmp_path: Path) -> None:
    async with standing(tmp_path, [HttpError(503)], fallback=[("anthropic", [LOOKS])]) as gateway:
        assert judged(await ask(gateway, PATH, body_of("responses", tools=TOOLS)))


@pytest.mark.parametrize("step", [Hang("headers"), Reply("North of the mill.", delay_seconds=36)])
@pytest_twisted.ensureDeferred
async def test_a_stream_that_has_shown_life_is_right(tmp_path: Path, step: Step) -> None:
    seconds = {"call_seconds": 2}  # a server of one's own is given ten times as long
    settings = seconds if isinstance(step, Hang) else {}
    async with skipping() as clock, standing(tmp_path, [step], runs_on=clock, settings=settings) as gateway:
        client = await connect(gateway, post(PATH, body_of("responses"), connection="close"))
        await until(reactor, lambda: gateway.fake.chats)
        await clock.skip(40)
        got = whole(await client.closed())
    assert b": waiting" in got.body
    assert judged(got)[-1]["type"] == f"response.{'failed' if isinstance(step, Hang) else 'completed'}"


@pytest_twisted.ensureDeferred
async def test_a_forwarded_stream_that_only_showed_life_fails_as_a_right_one(tmp_path: Path) -> None:
    seconds = {"call_seconds": 20}
    async with (
        skipping() as clock,
        standing(tmp_path, [Hang("headers")], provider="openai-responses", runs_on=clock, settings=seconds) as gateway,
    ):
        client = await connect(gateway, post(PATH, body_of("responses"), connection="close"))
        await until(reactor, lambda: gateway.fake.chats)
        await clock.skip(24)
        assert judged(whole(await client.closed()))[-1]["type"] == "response.failed"


@pytest.mark.parametrize("cut", [1, 7, 1000])
@pytest_twisted.ensureDeferred
async def test_a_forwarded_stream_that_breaks_is_numbered_to_its_end(tmp_path: Path, cut: int) -> None:
    """The event that ends it is ours, and follows the provider's."""
    item = text_item("Hi.")
    told = [
        event("created", None, response={"status": "in_progress", "output": []}),
        event("in_progress", None, response={"status": "in_progress", "output": []}),
        event("output_item.added", item={**item, "content": []}),
        *[
            event("output_text.delta", item_id="msg_1", content_index=0, delta=word)
            for word in ["So", "it", "goes", "on"]
        ],
    ]
    said = sse(*[{**one, "sequence_number": number} for number, one in enumerate(told)])
    pieces = [said[at : at + cut] for at in range(0, len(said), cut)]
    broken = Raw(200, {"Content-Type": "text/event-stream"}, pieces, abort=True)
    async with standing(tmp_path, [broken], provider="openai-responses") as gateway:
        events = events_of((await ask(gateway, PATH, body_of("responses"))).body)
    assert [event["type"] for event in events[-2:]] == ["response.output_text.delta", "response.failed"]


def numbered_from(number: int) -> list[bytes]:
    """A stream in which the part of the only item has this number, as Bedrock counts them."""
    item = text_item("Hi.")
    said = event("output_text.delta", item_id="msg_1", content_index=number, delta="Hi.")
    return [sse(event("output_item.added", item={**item, "content": []}), said, event("output_item.done", item=item)),
            sse(done(item))]  # fmt: skip


@pytest.mark.parametrize("dialect", ["chat", "messages", "ollama"])
@pytest_twisted.ensureDeferred
async def test_a_part_of_another_number_reaches_a_client_once(tmp_path: Path, dialect: str) -> None:
    answer = Raw(200, {"Content-Type": "text/event-stream"}, numbered_from(1))
    async with standing(tmp_path, [answer], provider="openai-responses") as gateway:
        got = await gateway.in_thread(lambda: CLIENTS[dialect](gateway, streams=True))
        assert got.text == "Hi."


STREAMS = [row for row in ROWS if row["is_stream"]]


@pytest.mark.skipif(not STREAMS, reason="no recordings")
@pytest.mark.parametrize("name", PROVIDERS)
@pytest_twisted.ensureDeferred
async def test_recorded_streams_reach_the_client_as_right_ones(tmp_path: Path, name: str) -> None:
    rows = [row for row in STREAMS if kind_of(row) == name]
    steps: list[Step] = [
        Raw(200, {"Content-Type": row["response_headers"].get("content-type", "text/event-stream")}, pieces_of(row))
        for row in rows
    ]
    async with standing(tmp_path, steps, provider=name) as gateway:
        for row in rows:
            tools = [
                {"type": "function", "name": (tool.get("function") or tool)["name"], "parameters": {"type": "object"}}
                for tool in row["request_json"].get("tools") or ()
                if (tool.get("function") or tool).get("name") and not str(tool.get("type")).startswith("web_")
            ]
            got = await ask(gateway, PATH, body_of("responses", tools=tools))
            judged(got)
            response, text, _ = final_response(got.body)
            assert text == response.output_text
            assert text.strip() == row["expected"]["text"].strip()


def kind_of(row: Row) -> str:
    if row["api"] == "messages":
        return "anthropic"
    return "ollama" if row["url_path"].endswith("/api/chat") else "local"


def pieces_of(row: Row) -> list[bytes]:
    """The recorded body, a line at a time."""
    return str(row["response_body"]["text"]).encode().splitlines(keepends=True)
