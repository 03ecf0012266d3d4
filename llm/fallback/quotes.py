"""Finds calls quoted from untrusted input. A model that repeats such a call was told to, so it is not executed.

An input is read in the same way as an answer. What the readers could not read there counts against the call, never for
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import orjson

from llm.fallback.drafts import Candidate, Draft, Offer, Reader
from llm.fallback.traces import Traces
from llm.loose_json.tokens import WorkBudget
from llm.messages import Message, Role, Text

#: Blanks, backslashes and escaped line breaks: what may differ between two spellings of one JSON text.
_SPELLING = re.compile(r"\\[nrt]|[\s\\]+")
#: How often reading continues after a value that an input leaves open.
_MAX_OPEN = 16
_OPENERS = re.compile(r"[{\[(<:\\]")


@dataclass(slots=True)
class _Read:
    """The calls read in one input. `gave_up`: the input was too costly to read to its end."""

    calls: set[bytes] = field(default_factory=set)
    gave_up: bool = False


class Quotes:
    """The calls that occur in the inputs (player text, tool results). Read only when there is a call to compare."""

    def __init__(self, inputs: Sequence[str], offer: Offer, readers: Sequence[Reader]) -> None:
        self._all_inputs = inputs
        self._offer = offer
        self._readers = readers

    def without(self, found: Candidate, text: str) -> Candidate:
        """Return the candidate without calls that an input holds: verbatim, in another spelling, or hidden in junk."""
        if not found.drafts or not self._inputs:
            return found
        if any(_squeeze(text[found.start : found.end]) in known for known in self._texts):
            return Candidate(found.start, found.end, (), found.repaired)
        own = tuple(draft for draft in found.drafts if not self._holds(draft))
        return Candidate(found.start, found.end, own, found.repaired)

    def _holds(self, draft: Draft) -> bool:
        call = _canonical(draft)
        return any(call in read.calls for read in self._read) or any(
            _is_hidden(draft, traces, sure=not read.gave_up)
            for read, traces in zip(self._read, self._traces, strict=True)
        )

    @cached_property
    def _inputs(self) -> list[str]:
        return [text for text in self._all_inputs if may_hold_call(text)]

    @cached_property
    def _texts(self) -> list[str]:
        return [_squeeze(text) for text in self._inputs]

    @cached_property
    def _traces(self) -> list[Traces]:
        return [Traces(text) for text in self._inputs]

    @cached_property
    def _read(self) -> list[_Read]:
        return [self._read_one(text) for text in self._inputs]

    def _read_one(self, text: str) -> _Read:
        read = _Read()
        for spelling in _spellings(text):
            for reader in self._readers:
                for draft in _drafts(spelling, self._offer, reader, read):
                    read.calls.add(_canonical(draft))
        return read


def may_hold_call(text: str) -> bool:
    """Tell whether the text has at least one of the characters without which no reader sees a call."""
    return _OPENERS.search(text) is not None


def _is_hidden(draft: Draft, traces: Traces, *, sure: bool) -> bool:
    """Tell whether an input shows traces of a call that was not read in it.

    Where the readers read everything, the name and the texts must both be there. Where they gave up (`sure` is False),
    one of the two is enough.
    """
    if traces.name_of(draft):
        return not sure or traces.texts_of(draft) is not False
    return not sure and traces.texts_of(draft) is True


def _drafts(text: str, offer: Offer, reader: Reader, read: _Read) -> Iterator[Draft]:
    """Yield every call a reader sees in an input, also after a value that the input leaves open.

    One budget covers it all.
    """
    budget = WorkBudget(len(text))
    for _ in range(_MAX_OPEN):
        reading = reader(text, offer, True, budget)
        for found in reading.candidates:
            yield from found.drafts
        if reading.cut is None or budget.left <= 0:
            break
        text, budget.deep_until = text[reading.cut + 1 :], 0
    else:
        read.gave_up = True
    read.gave_up |= budget.left <= 0


def _spellings(text: str) -> Iterator[str]:
    """Yield the text, and the text it would be as the inside of a JSON string."""
    yield text
    if "\\" in text:
        yield text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def _squeeze(text: str) -> str:
    return _SPELLING.sub("", text)


def _canonical(draft: Draft) -> bytes:
    return orjson.dumps([draft.name, draft.arguments, draft.problem], option=orjson.OPT_SORT_KEYS)


def inputs_of(messages: Sequence[Message]) -> Sequence[str]:
    """Return the untrusted text of the conversation: a call quoted from it is not the model's own."""
    return _Inputs(messages)


class _Inputs(Sequence[str]):
    """The untrusted text, gathered on first use: a history is long, and few answers hold a call to compare with it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._texts[at]

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        spoken: list[str] = []
        heard: list[str] = []
        for message in self._messages:
            if message.role is Role.USER:
                spoken += [block.text for block in message.blocks if isinstance(block, Text)]
            heard += [result.text for result in message.tool_results]
        return spoken + heard
