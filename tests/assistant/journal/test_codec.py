from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import BaseModel

from mud_assistant.assistant.events.events import (
    Arrived,
    ByRule,
    ChannelSaid,
    Emoted,
    Gave,
    Left,
    Noticed,
    Paged,
    Said,
    Whispered,
)
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, Limit, LimitReached, NothingToDo
from mud_assistant.assistant.journal import BrokenRecord, NewerRecord
from mud_assistant.assistant.journal.codec import Codec, seal
from mud_assistant.assistant.journal.records import (
    CALL,
    EVENT,
    EXECUTED,
    MESSAGE,
    MESSAGES,
    OUTCOME,
    RESPONSE,
)
from mud_assistant.llm import FinishReason, LLMResponse, Message, Role, ToolCall
from mud_assistant.llm.messages import (
    Citation,
    RawTurn,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolResult,
)
from mud_assistant.llm.response import RateLimitInfo, Usage
from mud_assistant.tools import Category, Executed, Pending, Principal, Status, Target
from mud_assistant.tools.policy.decide import PolicyRule
from tests.assistant.journal.keeping import SAY, event, executed, response

#: Every character there is, lone surrogates included; any integer; any number but NaN, which equals nothing.
words = st.text(st.characters(), max_size=20)
numbers = st.floats(allow_nan=False)
whole = st.integers(-(2**80), 2**80)
json_values = st.recursive(
    st.none() | st.booleans() | whole | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(words, json_values, max_size=3)
maybe = st.none() | st.integers(0, 2**40)


def made(cls: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a class with these fields."""
    return st.fixed_dictionaries(fields).map(lambda given: cls(**given))


who = made(Principal, id=words, name=words, permission=st.integers(0, 5))
granted = made(
    Pending,
    number=st.integers(1, 99),
    permission=st.integers(0, 5),
    tool=words,
    arguments=objects,
    shown=words,
    requester=st.none() | who,
    expires_at=numbers,
    approved_by=st.none() | who,
    commands=st.lists(words, max_size=2).map(tuple),
    covers=st.lists(made(Target, id=words, name=words, where=words), max_size=2).map(tuple),
    because=words,
)
events = st.one_of(
    *[
        made(cls, id=words, at=numbers, who=who, text=words, **more)
        for cls, more in (
            (Said, {"to_me": st.booleans(), "alone": st.booleans()}),
            (Whispered, {}),
            (Paged, {}),
            (ChannelSaid, {"channel": words}),
            (Emoted, {"alone": st.booleans(), "to_other": st.booleans()}),
            (Noticed, {"granted": st.none() | granted}),
        )
    ],
    made(Gave, id=words, at=numbers, who=who, thing=words, authority=maybe),
    made(Arrived, id=words, at=numbers, who=who, origin=words),
    made(Left, id=words, at=numbers, who=who, direction=words),
)
calls = made(ToolCall, id=words, name=words, arguments=objects, problem=words)
results = made(ToolResult, call_id=words, name=words, text=words)
blocks = st.one_of(
    made(Text, text=words),
    made(Reasoning, text=words, signature=words),
    calls,
    results,
    made(ServerToolCall, id=words, name=words, arguments=objects),
    made(ServerToolResult, call_id=words, name=words, text=words, failed=st.booleans()),
    made(Citation, text=words, url=words, title=words),
)
raws = st.none() | made(RawTurn, provider=words, blocks=st.lists(objects, max_size=3).map(tuple))
messages = made(Message, role=st.sampled_from(Role), blocks=st.lists(blocks, max_size=4).map(tuple), raw=raws)
usages = made(
    Usage,
    **dict.fromkeys(
        ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens"), maybe
    ),
    server_tools=st.none() | st.dictionaries(words, st.integers(0, 9), max_size=2),
    cost=st.none() | numbers,
)
limits = made(RateLimitInfo, remaining_requests=maybe, reset_tokens_at=st.none() | numbers, limit_tokens=maybe)
responses = made(
    LLMResponse,
    message=messages,
    finish_reason=st.sampled_from(FinishReason),
    usage=usages,
    provider=words,
    model=words,
    rate_limit_info=st.none() | limits,
    from_fallback=st.booleans(),
    repaired=st.booleans(),
    structured=json_values,
)
executions = made(
    Executed,
    call=calls,
    result=results,
    status=st.sampled_from(Status),
    category=st.none() | st.sampled_from(Category),
    seconds=numbers,
)
outcomes = st.one_of(
    made(Answered, acts=st.lists(words, max_size=3).map(tuple)),
    made(NothingToDo),
    made(LimitReached, limit=st.sampled_from(Limit), cause=words, account=words),
    made(Failed, cause=words, retry_at=st.none() | numbers, lasting=st.booleans(), bug=st.booleans()),
    made(Cancelled),
)


@given(events)
def test_an_event_comes_back_as_it_was(value: Any) -> None:
    assert EVENT.decode(EVENT.encode(value)) == value


def test_a_limit_that_an_earlier_version_wrote_is_read() -> None:
    record = seal(b'{"v":1,"k":"limit","limit":"budget","cause":"spent"}')
    assert OUTCOME.decode(record) == LimitReached(Limit.BUDGET, "spent")


def test_a_pose_that_an_earlier_version_wrote_is_read() -> None:
    record = seal(
        b'{"v":1,"k":"emoted","id":"e","at":1.0,"text":"waves.",'
        b'"who":{"id":"player:1","name":"Ann","kind":"player","permission":1,"trust":5}}'
    )
    assert EVENT.decode(record) == Emoted(id="e", at=1.0, who=Principal("player:1", "Ann"), text="waves.")


@given(st.lists(messages, max_size=3).map(tuple))
def test_messages_come_back_as_they_were(value: tuple[Message, ...]) -> None:
    assert MESSAGES.decode(MESSAGES.encode(value)) == value
    for message in value:
        assert MESSAGE.decode(MESSAGE.encode(message)) == message


@given(responses)
def test_a_response_comes_back_as_it_was(value: LLMResponse) -> None:
    assert RESPONSE.decode(RESPONSE.encode(value)) == value


@given(calls)
def test_a_call_comes_back_as_it_was(value: ToolCall) -> None:
    assert CALL.decode(CALL.encode(value)) == value


@given(executions)
def test_what_was_executed_comes_back_as_it_was(value: Executed) -> None:
    assert EXECUTED.decode(EXECUTED.encode(value)) == value


@given(outcomes)
def test_an_outcome_comes_back_as_it_was(value: Any) -> None:
    decoded = OUTCOME.decode(OUTCOME.encode(value))
    assert decoded == value
    assert type(decoded) is type(value)


@given(events, st.data())
def test_a_changed_byte_is_never_read_as_something_else(value: Any, data: st.DataObject) -> None:
    record = bytearray(EVENT.encode(value))
    at = data.draw(st.integers(0, len(record) - 1))
    record[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BrokenRecord):
        EVENT.decode(bytes(record))


@given(
    st.binary(max_size=60)
    | st.text(max_size=9)
    | st.none()
    | json_values.map(lambda value: seal(json.dumps(value).encode()))
)
def test_anything_else_is_an_error_of_ours(record: object) -> None:
    for codec in (EVENT, MESSAGES, RESPONSE, CALL, EXECUTED, OUTCOME):
        with pytest.raises((BrokenRecord, NewerRecord)):
            codec.decode(record)


@pytest.mark.parametrize(
    ("codec", "value", "old", "new"),
    [
        (EVENT, event(1), b'"said"', b'"sung"'),
        (EVENT, event(1), b'"v":1', b'"v":2'),
        (OUTCOME, NothingToDo(), b'"nothing"', b'"something"'),
        (RESPONSE, response(SAY), b'"k":"call"', b'"k":"dream"'),
    ],
)
def test_what_a_newer_version_wrote_is_told_apart(codec: Codec[Any], value: object, old: bytes, new: bytes) -> None:
    record = codec.encode(value)
    assert old in record
    with pytest.raises(NewerRecord):
        codec.decode(seal(record[:-9].replace(old, new)))


@pytest.mark.parametrize("old", [b'"v":1', b'"text"', b'"said"', b'"kind":"player"'])
def test_a_record_that_lacks_something_is_broken(old: bytes) -> None:
    record = EVENT.encode(event(1))
    assert old in record
    with pytest.raises((BrokenRecord, NewerRecord)):
        EVENT.decode(seal(record[:-9].replace(old, b'"x":0')))


class Answer(BaseModel):
    mood: str


def test_the_instance_of_a_schema_is_kept_as_json() -> None:
    asked = response(SAY)
    answer = LLMResponse(asked.message, asked.finish_reason, asked.usage, "p", "m", structured=Answer(mood="glad"))
    assert RESPONSE.decode(RESPONSE.encode(answer)).structured == {"mood": "glad"}


def test_what_has_no_form_is_refused_when_it_is_written() -> None:
    with pytest.raises(TypeError):
        CALL.encode(ToolCall("1", "x", {"y": object()}))  # type: ignore[dict-item]


def test_the_rule_that_judged_a_call_is_written_only_where_there_is_one() -> None:
    judged = replace(executed(SAY), rule=PolicyRule.GRANTED)
    assert EXECUTED.decode(EXECUTED.encode(judged)) == judged
    assert b'"rule":"granted"' in EXECUTED.encode(judged)
    assert b"rule" not in EXECUTED.encode(executed(SAY))


def test_a_record_can_be_read_by_a_person() -> None:
    assert EXECUTED.encode(executed(SAY)).startswith(
        b'{"v":1,"call":{"id":"c1","name":"say","arguments":{"text":"Hello'
    )


def test_a_call_by_rule_names_its_goal_and_reason_only_where_it_has_them() -> None:
    """So that a program without goals still reads what is written of walks."""
    walk = replace(event(1), by_rule=ByRule("move", {"direction": "north"}))
    assert b'"by_rule":{"tool":"move","arguments":{"direction":"north"}}' in EVENT.encode(walk)
    kept = replace(event(1), by_rule=ByRule("say", {}, walk.who, "g1", "promised"))
    assert [EVENT.decode(EVENT.encode(each)) for each in (walk, kept)] == [walk, kept]
