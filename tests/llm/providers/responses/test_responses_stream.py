"""Answers of the Responses API, in the many ways in which its servers write them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mud_assistant.llm import (
    BadCredential,
    Citation,
    ContextOverflow,
    FinishReason,
    LLMError,
    Message,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Reasoning,
    Rejected,
    ServerToolCall,
    ServerToolResult,
    StreamBroken,
    Text,
    ToolCall,
    Unavailable,
    UnreadableReasoning,
)
from tests.llm.providers.responses.answers import call_item, done, event, read, sse, text_item, thought

HELLO = [
    event("created", None, response={"model": "gpt-x", "status": "in_progress", "output": []}),
    event("output_item.added", item={"type": "message", "id": "msg_1", "role": "assistant", "content": []}),
    event("output_text.delta", item_id="msg_1", content_index=0, delta="Hel"),
    event("output_text.delta", item_id="msg_1", content_index=0, delta="lo."),
    event("output_item.done", item=text_item("Hello.")),
]
USAGE = {"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}


def test_184_a_stream_is_whole_with_the_event_that_carries_the_response() -> None:
    message, finish, usage = read(sse(*HELLO, done(text_item("Hello."), usage=USAGE)))
    assert (message.text, finish) == ("Hello.", FinishReason.STOP)
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (5, 2, 3)
    with pytest.raises(StreamBroken) as broken:
        read(sse(*HELLO) + b"data: [DONE]\n\n")
    assert broken.value.partial == "Hello."


def test_a_stream_cut_anywhere_gives_the_same() -> None:
    arguments = '{"at":"die Brücke 🌉"}'
    body = sse(
        *HELLO,
        event("output_item.added", 1, item=call_item("")),
        event("function_call_arguments.delta", 1, item_id="fc_1", delta='{"at":"die Br'),
        event("function_call_arguments.delta", 1, item_id="fc_1", delta='ücke 🌉"}'),
        event("output_item.done", 1, item=call_item(arguments)),
        done(text_item("Hello."), call_item(arguments)),
    )
    for form in (body, body.replace(b"\n", b"\r\n"), body.replace(b"event: ", b": a comment\n\nevent: ")):
        whole = read(form)
        assert whole[0].tool_calls == (ToolCall("call_1", "look", {"at": "die Brücke 🌉"}),)
        for at in range(1, len(form)):
            assert read(form, [at]) == whole


def test_events_without_names_and_with_their_name_behind_are_read() -> None:
    bare = b"".join(b"data: %s\n\n" % orjson.dumps(each) for each in [*HELLO, done(text_item("Hello."))])
    behind = b"".join(
        b"data: %s\nevent: %s\n\n" % (orjson.dumps(each), each["type"].encode())
        for each in [*HELLO, done(text_item("Hello."))]
    )
    assert read(bare)[0].text == read(behind)[0].text == "Hello."


def said(number: int | None, delta: str, kind: str = "output_text.delta", **more: Any) -> dict[str, Any]:
    """A piece of the part of this number, or with another `kind` something else about it."""
    part: dict[str, Any] = {} if number is None else {"content_index": number}
    part |= {"delta": delta} if kind.endswith("delta") else {"text": delta}
    return event(kind, item_id="msg_1", **part, **more)


def parts(*texts: str) -> dict[str, Any]:
    """A message of these parts."""
    return {**text_item(""), "content": [{"type": "output_text", "text": text, "annotations": []} for text in texts]}


#: Parts whose numbers in the stream are not their places in the item: what came in pieces, and the whole parts.
NUMBERS: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "from 1": ([said(1, "Hi"), said(1, ".")], ("Hi.",)),
    "from 1, told whole as 1": ([said(1, "Hi."), said(1, "Hi.", "output_text.done")], ("Hi.",)),
    "from 1, told whole as 0": ([said(1, "Hi."), said(0, "Hi.", "output_text.done")], ("Hi.",)),
    "from 0, told whole as 1": ([said(0, "Hi"), said(1, "Hi.", "output_text.done")], ("Hi.",)),
    "without one, told whole as 2": ([said(None, "Hi."), said(2, "Hi.", "output_text.done")], ("Hi.",)),
    "two from 1": ([said(1, "Hi. "), said(2, "Hi. You.")], ("Hi. ", "Hi. You.")),
    "two from 3, the last cut short": ([said(3, "Hi. "), said(4, "Yo")], ("Hi. ", "You.")),
    "one of two": ([said(2, "Hi. ")], ("Hi. ", "You.")),
    "a blank less in the item": ([said(1, "Hi.\n")], ("Hi.",)),
    "two alike": ([said(1, "Ho"), said(2, "Ho")], ("Ho", "Ho")),
    "a second one only told whole": (
        [said(0, "Hi"), said(0, "Hi", "output_text.done"), said(1, "Hi you.", "output_text.done")],
        ("Hi", "Hi you."),
    ),
}


@pytest.mark.parametrize("way", NUMBERS)
def test_a_part_is_told_once_whatever_number_its_pieces_have(way: str) -> None:
    pieces, texts = NUMBERS[way]
    item = parts(*texts)
    for end in ([event("output_item.done", item=item), done(item)], [done(item)]):
        message = read(sse(HELLO[0], HELLO[1], *pieces, *end))[0]
        assert message.text.strip() == "".join(texts)


def test_thoughts_are_told_once_whatever_number_their_pieces_have() -> None:
    item = {**thought(), "summary": [], "content": [{"type": "reasoning_text", "text": "So be it."}]}
    piece = event("reasoning_text.delta", item_id="rs_1", content_index=4, delta="So be")
    assert read(sse(HELLO[0], piece, event("output_item.done", item=item), done(item)))[0].reasoning == "So be it."


CALLS: dict[str, list[Any]] = {
    "two interleaved, known by their index": [
        event("output_item.added", 0, item=call_item("", "call_1", "fc_1")),
        event("output_item.added", 1, item=call_item("", "call_2", "fc_2")),
        event("function_call_arguments.delta", 1, item_id="fc_2", delta='{"b":'),
        event("function_call_arguments.delta", 0, item_id="fc_1", delta='{"a":1}'),
        event("function_call_arguments.delta", 1, item_id="fc_2", delta="2}"),
    ],
    "all of index 0, known by their ids": [
        event("output_item.added", 0, item=call_item("", "call_1", "fc_1")),
        event("output_item.added", 0, item=call_item("", "call_2", "fc_2")),
        event("function_call_arguments.delta", 0, item_id="fc_2", delta='{"b":2}'),
        event("function_call_arguments.delta", 0, item_id="fc_1", delta='{"a":1}'),
    ],
    "without an index": [
        event("output_item.added", None, item=call_item("", "call_1", "fc_1")),
        event("output_item.added", None, item=call_item("", "call_2", "fc_2")),
        event("function_call_arguments.delta", None, item_id="fc_2", delta='{"b":2}'),
        event("function_call_arguments.delta", None, item_id="fc_1", delta='{"a":1}'),
    ],
    "with another id in every event": [
        event("output_item.added", 0, item=call_item("", "call_1", "x1")),
        event("output_item.added", 1, item=call_item("", "call_2", "x2")),
        event("function_call_arguments.delta", 1, item_id="x3", delta='{"b":2}'),
        event("function_call_arguments.delta", 0, item_id="x4", delta='{"a":1}'),
    ],
    "only whole": [],
    "only in done": [
        event("output_item.added", 0, item=call_item("", "call_1", "fc_1")),
        event("function_call_arguments.done", 0, item_id="fc_1", arguments='{"a":1}'),
        event("output_item.added", 1, item=call_item("", "call_2", "fc_2")),
        event("function_call_arguments.done", 1, item_id="fc_2", arguments='{"b":2}'),
    ],
    "pieces sent twice": [
        event("output_item.added", 0, item=call_item("", "call_1", "fc_1")),
        event("function_call_arguments.delta", 0, item_id="fc_1", delta='{"a":1}'),
        event("function_call_arguments.delta", 0, item_id="fc_1", delta='{"a":1}'),
        event("function_call_arguments.done", 0, item_id="fc_1", arguments='{"a":1}'),
    ],
}


@pytest.mark.parametrize("way", CALLS)
def test_185_pieces_of_a_call_go_where_they_belong_and_what_is_done_wins(way: str) -> None:
    output = [call_item('{"a":1}', "call_1", "fc_1"), call_item('{"b":2}', "call_2", "fc_2")]
    message, finish, _ = read(sse(*CALLS[way], done(*output)))
    assert message.tool_calls == (ToolCall("call_1", "look", {"a": 1}), ToolCall("call_2", "look", {"b": 2}))
    assert finish is FinishReason.TOOL_CALLS
    assert len(message.raw_of("openai-responses")) == 2


def test_an_answer_whose_end_carries_no_items_is_what_its_events_said() -> None:
    message = read(sse(*HELLO[:4], done()))[0]
    assert message.text == "Hello."
    [said] = message.raw_of("openai-responses")
    assert said["content"] == [{"type": "output_text", "text": "Hello.", "annotations": []}]


def shared(kind: str) -> list[dict[str, Any]]:
    """Two items that have one id, with a call between them."""
    first, second = (
        {
            "reasoning": thought(f"sealed:{text}", "x", summary=[{"type": "summary_text", "text": text}]),
            "message": text_item(text, "x"),
            "function_call": call_item('{"a":1}', f"call_{text}", "x"),
        }[kind]
        for text in ("One.", "Two.")
    )
    return [first, call_item("{}", "call_between", "y"), second]


def streamed(item: dict[str, Any], index: int | None, *, starts: bool = True, ends: bool = True) -> list[Any]:
    """The events of an item."""
    start = event("output_item.added", index, item={**item, "summary": [], "content": [], "arguments": ""})
    text = "output_text.delta", {"content_index": 0}
    if item["type"] == "reasoning":
        text = "reasoning_summary_text.delta", {"summary_index": 0}
    words = [part["text"] for part in item.get("summary") or item.get("content") or ()]
    pieces = [event(text[0], index, item_id=item["id"], delta=word, **text[1]) for word in words]
    end = event("output_item.done", index, item=item)
    return [start] * starts + pieces * starts + [end] * ends


#: How a server tells of items: the index of each, and whether it tells of their start and of their end.
WAYS: dict[str, tuple[tuple[int | None, ...], bool, bool]] = {
    "as it should": ((0, 1, 2), True, True),
    "all of index 0": ((0, 0, 0), True, True),
    "without an index": ((None, None, None), True, True),
    "without their end": ((0, 1, 2), True, False),
    "only their end": ((0, 1, 2), False, True),
    "nothing": ((0, 1, 2), False, False),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["reasoning", "message", "function_call"])
def test_two_items_that_have_one_id_are_two(kind: str, way: str) -> None:
    """Each is read, and kept to be sent back, where it stood: sealed reasoning is of no use elsewhere."""
    items = shared(kind)
    indexes, starts, ends = WAYS[way]
    told = [streamed(item, at, starts=starts, ends=ends) for item, at in zip(items, indexes, strict=True)]
    message = read(sse(HELLO[0], *[each for events in told for each in events], done(*items)))[0]
    check_shared(kind, message, items)
    check_shared(kind, read(orjson.dumps({"status": "completed", "output": items}))[0], items)


def check_shared(kind: str, message: Message, items: list[dict[str, Any]]) -> None:
    assert list(message.raw_of("openai-responses")) == items
    if kind == "function_call":
        assert [call.id for call in message.tool_calls] == ["call_One.", "call_between", "call_Two."]
    else:
        assert (message.reasoning if kind == "reasoning" else message.text) == "One.Two."
        assert [call.id for call in message.tool_calls] == ["call_between"]


def test_items_of_one_id_that_take_turns_are_told_apart_by_their_index() -> None:
    first, _, second = shared("reasoning")
    pieces = [streamed(first, 0), streamed(second, 1)]
    events = [pieces[at][step] for step in range(3) for at in (0, 1)]
    assert read(sse(HELLO[0], *events, done(first, second)))[0].raw_of("openai-responses") == (first, second)


def test_arguments_as_an_object_are_read_and_go_back_as_text() -> None:
    message = read(orjson.dumps({"status": "completed", "output": [call_item({"a": 1})]}))[0]
    assert message.tool_calls[0].arguments == {"a": 1}
    assert message.raw_of("openai-responses")[0]["arguments"] == '{"a":1}'


def test_186_commentary_is_kept_apart_from_the_final_answer_and_is_the_text_without_one() -> None:
    remark = text_item("Let me look.", "msg_0", phase="commentary")
    answer = text_item("It is deep.", phase="final_answer")
    start = event("output_item.added", item={**remark, "content": []})
    piece = event("output_text.delta", item_id="msg_0", content_index=0, delta="Let me look.")
    message = read(sse(start, piece, done(remark, answer)))[0]
    assert message.blocks == (Reasoning("Let me look."), Text("It is deep."))
    assert message.raw_of("openai-responses") == (remark, answer)
    beside_a_call = read(sse(start, piece, done(remark, call_item("{}"))))[0]
    assert (beside_a_call.text, beside_a_call.reasoning) == ("Let me look.", "")


@pytest.mark.parametrize(
    ("response", "finish"),
    [
        (done(text_item("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "length"),
        (done(text_item("x"), status="incomplete", incomplete_details={"reason": "content_filter"}), "filtered"),
        (done(text_item("x"), status="incomplete", incomplete_details=None), "length"),
    ],
)
def test_an_incomplete_answer_says_why(response: Any, finish: str) -> None:
    assert read(sse(response))[1] == read(orjson.dumps(response["response"]))[1] == FinishReason(finish)


def test_a_refusal_is_filtered() -> None:
    part = {"type": "refusal", "refusal": "I will not."}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
    piece = event("refusal.delta", item_id="msg_1", content_index=0, delta="I will")
    for body in (sse(piece, done(item)), orjson.dumps({"status": "completed", "output": [item]})):
        message, finish, _ = read(body)
        assert (message.text, finish) == ("I will not.", FinishReason.FILTERED)


ERRORS = [
    ("rate_limit_exceeded", "Rate limit reached. Please try again in 11.05s.", RateLimited),
    ("server_error", "The server had an error.", Unavailable),
    ("context_length_exceeded", "Your input exceeds the context window of this model.", ContextOverflow),
    ("insufficient_quota", "You exceeded your current quota.", QuotaExhausted),
    ("invalid_prompt", "Invalid prompt: flagged.", Rejected),
    ("invalid_encrypted_content", "The encrypted content gAAA could not be verified.", UnreadableReasoning),
    ("something_new", "What?", Unavailable),
    (None, "", Unavailable),
]


@pytest.mark.parametrize(("code", "said", "kind"), ERRORS)
def test_187_an_error_in_the_stream_and_a_failed_response_are_errors_by_their_code(
    code: str | None, said: str, kind: type
) -> None:
    error = {"code": code, "message": said}
    bodies = [
        sse(*HELLO, {"type": "error", **error, "param": None, "sequence_number": 3}),
        sse(*HELLO, {"type": "error", "error": error}),
        sse(*HELLO, done(status="failed", error=error)),
        orjson.dumps({"object": "response", "status": "failed", "error": error, "output": []}),
    ]
    for body in bodies:
        with pytest.raises(LLMError) as caught:
            read(body)
        assert type(caught.value) is kind
        assert said in caught.value.message


def test_a_cancelled_response_is_an_error() -> None:
    with pytest.raises(Unavailable):
        read(sse(*HELLO, done(status="cancelled")))


def test_188_what_the_server_runs_itself_is_told_with_its_sources_and_unknown_items_stay_raw() -> None:
    action = {"type": "search", "query": "well", "sources": [{"type": "url", "url": "https://a.example"}]}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    cited = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "Wells", "url": "https://a.example"}
    strange = {"type": "hologram", "id": "h_1", "light": [1, 2]}
    answer = text_item("It is deep.", annotations=[cited])
    unknown = {"type": "response.hologram.turned", "output_index": 1, "angle": 3}
    message = read(sse(unknown, done(search, strange, answer)))[0]
    assert message.blocks == (
        ServerToolCall("ws_1", "web_search", {"type": "search", "query": "well"}),
        ServerToolResult("ws_1", "web_search", "https://a.example"),
        Text("It is deep."),
        Citation("It", "https://a.example", "Wells"),
    )
    assert message.raw_of("openai-responses") == (search, strange, answer)


def test_reasoning_is_read_from_its_summary_and_from_its_plain_text() -> None:
    body = sse(
        event("output_item.added", item=thought("early")),
        event("reasoning_summary_text.delta", item_id="rs_1", summary_index=0, delta="Hm"),
        event("reasoning_summary_text.done", item_id="rs_1", summary_index=0, text="Hmm."),
        done(thought("late", summary=[{"type": "summary_text", "text": "Hmm."}]), text_item("Yes.")),
    )
    message = read(body)[0]
    assert message.blocks == (Reasoning("Hmm."), Text("Yes."))
    assert message.raw_of("openai-responses")[0]["encrypted_content"] == "late"
    plain = sse(event("reasoning_text.delta", item_id="rs_1", content_index=0, delta="Hm."), done(text_item("Yes.")))
    assert read(plain)[0].reasoning == "Hm."


@pytest.mark.parametrize("body", [b"{}", b'{"output": null}', b"[]", b"<html>no</html>", b'"x"', b"data: 7\n\n"])
def test_what_is_no_answer_is_an_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(body)


@pytest.mark.parametrize(
    "odd",
    [
        event("output_text.delta", "x", item_id=3, content_index="y", delta="a"),  # type: ignore[arg-type]
        event("output_text.delta", delta=7),
        event("output_item.added", item=7),
        event("output_item.done", item={"type": ["x"], "content": 3}),
        event("function_call_arguments.delta", [], delta={"a": 1}),  # type: ignore[arg-type]
        event("function_call_arguments.done", None),
        {"type": "response.output_item.done", "item": {"type": "message", "content": [7, {"annotations": 3}]}},
        {"type": "response.in_progress", "response": 3},
        {"type": "keepalive"},
    ],
)
def test_nothing_odd_breaks_it(odd: Any) -> None:
    assert read(sse(*HELLO, odd, done(text_item("Hello."))))[0].text.startswith("Hello.")


def test_a_wrong_key_is_told() -> None:
    said = {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key", "param": None}}
    with pytest.raises(BadCredential):
        read(orjson.dumps(said), status=401)
