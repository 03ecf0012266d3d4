"""Whatever a request holds, it is read or refused with the name of a field; nothing else is raised."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.failures import RequestRefused
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_NAMES = (
    "model messages system tools tool_choice stop thinking response_format stream_options output_config max_tokens "
    "temperature stop_sequences n modalities parallel_tool_calls"
)
_KINDS = ["text", "tool_use", "thinking", "redacted_thinking", "tool_result", "web_search_tool_result", "image"]
_BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS)},
    optional=dict.fromkeys(("text", "id", "name", "input", "content", "tool_use_id", "thinking", "data"), JSON),
)
_TURN = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", 5])},
    optional={"content": JSON | st.lists(_BLOCK, max_size=3), "tool_calls": JSON, "tool_call_id": JSON},
)


@given(
    dialect=st.sampled_from([ChatDialect(), MessagesDialect()]),
    fields=st.dictionaries(st.sampled_from(_NAMES.split()), JSON),
    turns=st.lists(_TURN, max_size=3),
)
def test_any_request_is_read_or_refused_with_a_name(dialect: Any, fields: Any, turns: Any) -> None:
    request = {"model": "sage", "max_tokens": 5, "messages": turns, **fields}
    try:
        assert dialect.read(request, {}).model == request["model"]
    except RequestRefused as refused:
        assert refused.failure.parameter  # noqa: PT017  (either may happen)
