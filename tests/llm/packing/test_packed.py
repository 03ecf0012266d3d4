from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.journal.records import MESSAGE
from mud_assistant.llm import (
    Message,
    RawTurn,
    Role,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    system,
    tool_results,
    user,
)
from mud_assistant.llm.fallback.prompt import with_instructions
from mud_assistant.llm.messages import Block, Citation, JSONObject, Reasoning, ServerToolCall, ServerToolResult, Text
from mud_assistant.llm.packing.pack import FULL, pack, regroup
from mud_assistant.llm.packing.packed import Joined, Packed, Part
from mud_assistant.llm.providers import AnthropicProvider, LocalProvider, OllamaProvider
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import CallOptions

PROVIDERS = {
    "chat": LocalProvider("http://a/v1", "m"),
    "ollama": OllamaProvider("http://a", "m"),
    "anthropic": AnthropicProvider("http://a", "m"),
}
every_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["look", "say", "call_1"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=3)
raw_blocks = st.one_of(
    objects,
    st.fixed_dictionaries({"type": st.just("text"), "text": words}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": words, "signature": words}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": words, "name": words, "input": objects}),
    st.fixed_dictionaries({"type": st.just("server_tool_use"), "id": words, "name": words, "input": objects}),
)
raws = st.builds(
    RawTurn, st.sampled_from(["anthropic", "local", "ollama"]), st.lists(raw_blocks, max_size=3).map(tuple)
)
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, words),
    st.builds(Reasoning, words, words),
    st.builds(ToolCall, words, words, objects, words),
    st.builds(ToolResult, words, words, words, st.booleans()),
    st.builds(ServerToolCall, words, words, objects),
    st.builds(ServerToolResult, words, words, words, st.booleans()),
    st.builds(Citation, words, words, words),
)
anything = st.builds(
    Message, st.sampled_from(Role), st.lists(blocks, max_size=3).map(tuple), st.none() | st.none() | raws
)
calls = st.lists(st.builds(ToolCall, words, words, objects), max_size=2)


def step(asked: Sequence[ToolCall]) -> list[Message]:
    """A usual step."""
    return [assistant(*asked), tool_results([ToolResult(call.id, call.name, "done") for call in asked])]


talks = st.lists(
    st.builds(lambda text: [user(text)], words)
    | st.builds(lambda text: [assistant(Text(text))], words)
    | st.builds(step, calls)
    | st.builds(lambda message: [message], anything),
    max_size=8,
)


def flat(told: Sequence[Sequence[Message]]) -> list[Message]:
    return [message for messages in told for message in messages]


def packed(told: Sequence[Sequence[Message]]) -> list[Part]:
    parts: list[Part] = []
    pack(told, parts, MESSAGE)
    return parts


def rows(parts: Sequence[Part]) -> list[Packed]:
    return [part for part in parts if isinstance(part, Packed)]


def request(provider: LLMProvider, messages: Sequence[Message], *, as_text: bool = False) -> bytes:
    return provider.build_request(messages, (), None, CallOptions(), tools_as_text=as_text)


def same(one: Sequence[Message], other: Sequence[Message]) -> bool:
    """Equal in every type, which `True == 1` is not, and in the bytes that are kept."""
    return (
        list(one) == list(other)
        and repr(list(one)) == repr(list(other))
        and [m.wire for m in one] == [m.wire for m in other]
    )


@settings(deadline=None)
@given(provider=st.sampled_from(list(PROVIDERS.values())), told=talks, cut=st.integers(0, 8))
def test_what_is_packed_comes_back_as_it_was_and_is_sent_as_it_was(
    provider: LLMProvider, told: list[list[Message]], cut: int
) -> None:
    messages = flat(told)
    provider.count_tokens(messages)
    parts = packed(told[:cut])
    pack(told[cut:], parts, MESSAGE)
    assert same(messages, list(Joined(parts)))
    assert provider.count_tokens(Joined(parts)) == provider.count_tokens(messages)
    for as_text in (False, True, False):
        if all(message.wire.get(f"{provider.dialect}/text", b"x") for message in messages):
            assert request(provider, Joined(parts), as_text=as_text) == request(provider, messages, as_text=as_text)


@settings(deadline=None)
@given(provider=st.sampled_from(list(PROVIDERS.values())), told=talks, keep=st.sets(st.integers(0, 8)))
def test_cuts_are_put_together_unread_without_those_that_are_left_out(
    provider: LLMProvider, told: list[list[Message]], keep: set[int]
) -> None:
    provider.count_tokens(flat(told))
    groups = list(regroup(packed(told), [len(messages) for messages in told]))
    assert [list(group) for group in groups] == told
    kept = [at for at in range(len(told)) if at in keep]
    again = packed([groups[at] for at in kept])
    assert same(flat([told[at] for at in kept]), list(Joined(again)))


THOUGHT: JSONObject = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
CALLED: JSONObject = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "lamp", "deep": 2.5}}
LOOK = ToolCall("toolu_1", "look", {"at": "lamp", "deep": 2.5})


def raw_turn() -> Message:
    """A turn as Anthropic sends it; made anew each time, because a message keeps its bytes."""
    return Message(Role.ASSISTANT, (Reasoning("Hm.", "abc"), LOOK), RawTurn("anthropic", (THOUGHT, CALLED)))


def seen() -> Message:
    return tool_results([ToolResult("toolu_1", "look", "A lamp.")])


def usual() -> list[Message]:
    return [user("Ann says: hi"), assistant(Text("Hello.")), assistant(Text("I look."), LOOK), seen()]


@every_provider
def test_the_usual_messages_are_nothing_but_their_bytes(provider: LLMProvider) -> None:
    told = [*usual(), *([raw_turn(), seen()] if provider.name == "anthropic" else ())]
    told += [assistant(Reasoning("Hm."), LOOK), seen()] if provider.name == "ollama" else []
    provider.count_tokens(told)
    [row] = rows(packed([told]))
    assert not row.records
    assert same(told, list(row))


def test_what_the_bytes_do_not_tell_is_kept_beside_them() -> None:
    provider = PROVIDERS["chat"]
    told = [assistant(Reasoning("Hm."), LOOK), tool_results([ToolResult("toolu_1", "look", "no", failed=True)])]
    provider.count_tokens(told)
    [row] = rows(packed([told]))
    assert len(row.records) == 2
    assert same(told, list(row))


def test_a_result_without_its_call_before_it_keeps_its_name() -> None:
    provider = PROVIDERS["chat"]
    told = [assistant(LOOK), seen()]
    provider.count_tokens(told)
    [row] = rows(packed([told]))
    groups = list(regroup([row], [1, 1]))
    assert list(Joined(packed(groups[1:]))) == [seen()]


def test_turns_with_a_providers_own_tools_stay_as_they_are() -> None:
    provider = PROVIDERS["anthropic"]
    search: JSONObject = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    searched = Message(Role.ASSISTANT, (ServerToolCall("s", "web_search", {}),), RawTurn("anthropic", (search,)))
    told = [user("a"), searched, user("b")]
    provider.count_tokens(told)
    parts = packed([told])
    assert parts[1] is searched
    offered = CallOptions(server_tools=({"type": "web_search_20250305", "name": "web_search"},))
    with_tool, without = (provider.build_request(Joined(parts), (), None, each) for each in (offered, CallOptions()))
    assert b"server_tool_use" in with_tool
    assert b"server_tool_use" not in without


class Counting(LocalProvider):
    """Knows how many messages it encoded."""

    encoded = 0

    def encode_message(self, message: Message) -> list[JSONObject]:
        self.encoded += 1
        return super().encode_message(message)


def test_another_dialect_encodes_the_rows_once_and_then_what_is_new() -> None:
    first, second = PROVIDERS["ollama"], Counting("http://a/v1", "m")
    told = [user(f"line {number}") for number in range(10)]
    first.count_tokens(told)
    parts = packed([told[:6]])
    request(second, Joined(parts))
    request(second, Joined(parts))
    assert second.encoded == 6
    pack([told[6:]], parts, MESSAGE)
    bodies = [request(second, Joined(parts)) for _ in range(2)]
    assert second.encoded == 10
    assert bodies == [request(LocalProvider("http://a/v1", "m"), [user(m.text) for m in told])] * 2


def test_rows_are_bounded() -> None:
    provider = PROVIDERS["chat"]
    told = [user("x" * 100) for _ in range(1000)]
    provider.count_tokens(told)
    parts: list[Part] = []
    for message in told:
        pack([[message]], parts, MESSAGE)
    sizes = [row.size for row in rows(parts)]
    assert len(sizes) > 3
    assert max(sizes) < FULL + 200
    assert list(Joined(parts)) == told


def test_one_sequence_of_rows_and_messages() -> None:
    provider = PROVIDERS["chat"]
    told = [system("s"), *usual()]
    provider.count_tokens(told)
    whole = Joined([*packed([told]), user("new")])
    assert len(whole) == 6
    assert [whole[0], whole[-1], whole[2]] == [told[0], user("new"), told[2]]
    assert whole[1:3] == told[1:3]
    assert list(reversed(whole)) == [user("new"), *reversed(told)]
    with pytest.raises(IndexError):
        Joined([])[0]


def test_instructions_for_calls_in_text_leave_rows_packed() -> None:
    provider = PROVIDERS["chat"]
    told = [system("s"), *usual()]
    provider.count_tokens(told)
    parts = [*packed([told[:1]]), user("between"), *packed([told[1:]])]
    tools = [ToolSpec("look", "Look.", {"type": "object"})]
    asked = with_instructions(Joined(parts), tools)
    assert isinstance(asked, Joined)
    assert list(asked.parts[1:]) == parts[1:]
    assert asked[0].text.startswith("s\n\nYou act only")
    assert list(asked)[1:] == list(Joined(parts))[1:]
    body: dict[str, Any] = json.loads(request(provider, asked, as_text=True))
    assert body == json.loads(request(provider, with_instructions(list(Joined(parts)), tools), as_text=True))


@every_provider
@pytest.mark.parametrize("name", ["look", ""])
def test_results_that_are_packed_later_than_their_call_come_back_as_they_were(provider: LLMProvider, name: str) -> None:
    told = [assistant(LOOK), tool_results([ToolResult("toolu_1", name, "A lamp.")])]
    provider.count_tokens(told)
    parts = packed([told[:1]])
    pack([told[1:]], parts, MESSAGE)
    [row] = rows(parts)
    assert same(told, list(row))
    assert same(told[1:], list(row.span(1, 2)))
    assert (not row.records) == bool(name or provider.name == "ollama")
