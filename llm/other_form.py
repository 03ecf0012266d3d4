"""Reads an answer that came in another form than was asked for: a stream for a whole one, or the other way round."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.response import LLMResponse, StreamEvent
from mud_assistant.llm.wire.accumulate import Accumulator

#: Where one JSON document ends and another begins: no single document has such a place, not even in its texts.
_BETWEEN_DOCUMENTS = re.compile(rb"\}[ \t\r]*\n\s*\{")


class ReadAnswer(Struct, frozen=True):
    """An answer that was read, to be rendered in the form that was asked for. `events` add up to it."""

    response: LLMResponse
    events: Sequence[StreamEvent] = ()


def new_answer() -> Accumulator:
    """Return what collects an answer that is rendered anew."""
    return Accumulator((), lambda: f"call_{secrets.token_hex(8)}")


def read_answer(answer: Accumulator, provider: LLMProvider, events: Sequence[StreamEvent] = ()) -> ReadAnswer:
    """Return what was collected of a finished answer."""
    message, finish = answer.message()
    named = answer.model or provider.model
    return ReadAnswer(LLMResponse(message, finish, answer.usage, provider.name, named), events)


def read_whole(body: bytes, provider: LLMProvider) -> ReadAnswer:
    """Return the answer that came whole, with the events of its stream. Raises LLMError for a body that is none."""
    events, answer = provider.parse_response(body), new_answer()
    for event in events:
        answer.feed(event)
    return read_answer(answer, provider, events)


def is_document(body: bytes) -> bool:
    """Tell whether a whole body of JSON is one document, and not the lines of a stream under the name of one."""
    return _BETWEEN_DOCUMENTS.search(body) is None
