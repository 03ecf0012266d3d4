"""Streams in which calls come in odd ways, rendered for clients that want one clean order: no call is lost."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.dialect import Dialect
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.response import CallDelta, FinishReason, FinishSeen, ReasoningDelta, StreamEvent, TextDelta
from tests.llm.dialects.judges import HEAD, asked, check_grammar, events_of, judge, rendered, response_of

CALL = asked("say", "look", "read_mail")
BOTH = [MessagesDialect(), ChatDialect()]
both = pytest.mark.parametrize("dialect", BOTH, ids=lambda dialect: str(dialect.name))
SAY, LOOK = ("say", {"text": "a {b}"}), ("look", {"at": "well"})
SAYS, LOOKS = '{"text":"a {b}"}', '{"at":"well"}'


def piece(
    index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> CallDelta:
    return CallDelta(index, call_id, name, arguments)


def old(name: str, arguments: str) -> CallDelta:
    return CallDelta(name=name, arguments=arguments, is_legacy=True)


ODD: dict[str, tuple[list[StreamEvent], list[tuple[str, Any]]]] = {
    "one after the other": (
        [piece(0, "a", "say", '{"text":'), piece(0, arguments='"a {b}"}'), piece(1, "b", "look", LOOKS)],
        [SAY, LOOK],
    ),
    "taking turns": (
        [
            piece(0, "a", "say", ""),
            piece(1, "b", "look", ""),
            piece(0, arguments='{"text":"a '),
            piece(1, arguments='{"at"'),
            piece(0, arguments='{b}"'),
            piece(1, arguments=':"well"}'),
            piece(0, arguments="}"),
        ],
        [SAY, LOOK],
    ),
    "the second is whole first": (
        [
            piece(0, "a", "say", '{"text"'),
            piece(1, "b", "look", LOOKS),
            TextDelta("Well."),
            piece(0, arguments=':"a {b}"}'),
        ],
        [SAY, LOOK],
    ),
    "all with index 0": ([piece(0, "a", "say", SAYS), piece(0, "b", "look", LOOKS)], [SAY, LOOK]),
    "without ids": ([piece(0, None, "say", SAYS), piece(1, None, "look", LOOKS)], [SAY, LOOK]),
    "without indexes": ([piece(None, None, "say", SAYS), piece(None, None, "look", LOOKS)], [SAY, LOOK]),
    "as objects": ([piece(None, None, "say", SAY[1]), piece(None, None, "look", LOOK[1])], [SAY, LOOK]),
    "the same id twice": ([piece(0, "a", "say", SAYS), piece(1, "a", "look", LOOKS)], [SAY, LOOK]),
    "a name in two pieces": (
        [piece(0, "a", "read_"), piece(0, None, "mail"), piece(0, arguments='{"of":1}')],
        [("read_mail", {"of": 1})],
    ),
    "no arguments": ([piece(0, "a", "look"), piece(1, "b", "say", SAYS)], [("look", {}), SAY]),
    "in a string": ([piece(0, "a", "say", '"{\\"text\\": '), piece(0, arguments='\\"a {b}\\"}"')], [SAY]),
    "in another notation": ([piece(0, "a", "say", "{'text': 'a {b}'}")], [SAY]),
    "null for no arguments": ([piece(0, "a", "look", "null")], [("look", {})]),
    "old and new at once": ([old("say", SAYS), piece(0, "a", "say", SAYS)], [SAY]),
    "old alone": ([old("say", SAYS)], [SAY]),
    "a phantom": ([piece(0, "x", "", ""), TextDelta("Hm."), piece(1, "a", "say", SAYS)], [SAY]),
    "text and thoughts between": (
        [
            ReasoningDelta("Hm. "),
            TextDelta("\n"),
            piece(0, "a", "say", SAYS),
            TextDelta("  "),
            ReasoningDelta("So."),
            piece(1, "b", "look", LOOKS),
        ],
        [SAY, LOOK],
    ),
}


@both
@pytest.mark.parametrize("odd", ODD)
def test_every_call_comes_whole_and_in_order(dialect: Dialect, odd: str) -> None:
    events, expected = ODD[odd]
    sent = rendered(dialect, events, CALL, pings=True)
    if dialect.name == "messages":
        check_grammar(sent)
    judged = judge(dialect, sent)
    assert judged.calls == expected
    assert all(judged.ids)
    assert len(set(judged.ids)) == len(expected)
    assert judged.reason in {"tool_use", "tool_calls"}
    assert judged.text.strip() == response_of(events, CALL).content.strip()


@given(
    dialect=st.sampled_from(BOTH),
    calls=st.lists(
        st.dictionaries(st.text(max_size=4), st.text(max_size=9) | st.integers(-9, 9) | st.booleans(), max_size=3),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 10_000),
    has_ids=st.booleans(),
)
def test_calls_that_take_turns_at_random(
    dialect: Dialect, calls: list[dict[str, Any]], seed: int, *, has_ids: bool
) -> None:
    chance = random.Random(seed)  # noqa: S311  (a seeded choice of cuts)
    queues = []
    for number, arguments in enumerate(calls):
        whole = orjson.dumps(arguments).decode()
        cuts = sorted(chance.randrange(len(whole) + 1) for _ in range(3))
        pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        named = CallDelta(number, f"id{number}" if has_ids else None, "say", "")
        queues.append([named, *(CallDelta(number, arguments=text) for text in pieces)])
    events: list[StreamEvent] = [queue.pop(0) for queue in queues]
    while any(queues):
        events.append(chance.choice([queue for queue in queues if queue]).pop(0))
    sent = rendered(dialect, events, CALL)
    if dialect.name == "messages":
        check_grammar(sent)
    assert judge(dialect, sent, seed=seed).calls == [("say", arguments) for arguments in calls]


@both
def test_arguments_that_were_cut_off_do_not_look_whole(dialect: Dialect) -> None:
    events: list[StreamEvent] = [CallDelta(0, "a", "say", "{'text': 'a"), FinishSeen(FinishReason.LENGTH)]
    sent = rendered(dialect, events, CALL)
    assert b"{'text': 'a" in sent
    assert b'"{}"' not in sent


@both
def test_the_first_call_is_heard_before_the_answer_ends(dialect: Dialect) -> None:
    renderer = dialect.renderer(CALL, HEAD)
    renderer.begin()
    assert b"say" in renderer.feed(CallDelta(0, "a", "say", '{"text":'))
    assert b"well" in renderer.feed(CallDelta(0, arguments='"well"}'))
    assert b"look" in renderer.feed(CallDelta(1, "b", "look", '{"at":1}'))


def test_pieces_of_one_call_stay_pieces() -> None:
    events = [CallDelta(0, "a", "say", '{"text":'), CallDelta(0, arguments='"a"'), CallDelta(0, arguments="}")]
    told = events_of(rendered(MessagesDialect(), events, CALL))
    pieces = [event["delta"]["partial_json"] for event in told if event["type"] == "content_block_delta"]
    assert pieces == ['{"text":', '"a"', "}"]
