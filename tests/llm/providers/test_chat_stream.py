"""Chunks that are like an earlier one are read the short way; they must say the same as when read in full."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.errors import LLMError
from mud_assistant.llm.providers.chat_stream import ChatStream
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.wire.building import EventRecorder

TEXTS = st.sampled_from(["", "a", "stop", "content", "b\u00e9", "\U0001f600", 'say "hi"\n', "{}", "?", "!"])
DELTAS = st.one_of(
    st.builds(lambda text: {"content": text}, TEXTS),
    st.builds(lambda text: {"content": text, "role": "assistant"}, TEXTS),
    st.builds(lambda text: {"reasoning_content": text}, TEXTS),
    st.builds(lambda text: {"refusal": text}, TEXTS),
    st.builds(
        lambda index, name, text: {"tool_calls": [{"index": index, "function": {**name, "arguments": text}}]},
        st.sampled_from([0, 1, "0", None]),
        st.sampled_from([{}, {"name": "look"}, {"name": None}]),
        TEXTS,
    ),
    st.just({}),
)
USUAL: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "model": "m"}


def chunk(delta: Any, choice: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A chunk of an answer."""
    return {**USUAL, "choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}], **more}


CHUNKS = st.builds(
    chunk,
    DELTAS,
    st.sampled_from([{}, {}, {}, {"index": 1}, {"finish_reason": "stop"}, {"error": {"message": "no"}}]),
    st.sampled_from([{}, {}, {}, {"model": "n"}, {"usage": {"prompt_tokens": 3}}, {"error": {"message": "no"}}]),
)


def read(chunks: list[dict[str, Any]], line_end: str, *, ascii_only: bool) -> tuple[list[StreamEvent], str]:
    """The events of these chunks, and the error they carry."""
    recorder = EventRecorder()
    stream = ChatStream("local", "m", recorder)
    written = [f"data: {json.dumps(said, ensure_ascii=ascii_only)}{line_end * 2}" for said in chunks]
    stream.feed("".join([*written, f"data: [DONE]{line_end * 2}"]).encode())
    try:
        stream.end()
    except LLMError as error:
        return recorder.take(), repr(error)
    return recorder.take(), ""


@given(st.lists(CHUNKS, max_size=12), st.booleans())
def test_chunks_say_the_same_when_each_is_read_in_full(chunks: list[dict[str, Any]], ascii_only: bool) -> None:
    in_full = read(chunks, "\r\n", ascii_only=ascii_only)  # which is not the usual form
    assert read(chunks, "\n", ascii_only=ascii_only) == in_full


def test_a_chunk_like_an_earlier_one_is_taken_after_another_model_was_named() -> None:
    first, other = chunk({"content": "a"}, {}, {}), chunk({"content": "b"}, {}, {"model": "n"})
    chunks = [first, first, first, other, other, other, first, first]
    assert read(chunks, "\n", ascii_only=True) == read(chunks, "\r\n", ascii_only=True)


def test_an_error_in_a_chunk_like_an_earlier_one_is_seen() -> None:
    first = chunk({"content": "a"}, {}, {})
    _, error = read([first, first, first, {**first, "error": {"message": "the model broke"}}], "\n", ascii_only=True)
    assert "the model broke" in error
