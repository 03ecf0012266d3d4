"""Quotes found the straightforward way: every input is read anew for each answer. The product must judge alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mud_assistant.llm.fallback.drafts import Candidate, Draft, Offer, Reader
from mud_assistant.llm.fallback.quotes import _canonical, _spellings, _squeeze, may_hold_call
from mud_assistant.llm.fallback.traces import Traces
from mud_assistant.llm.loose_json.tokens import WorkBudget
from mud_assistant.llm.messages import Message, Role, Text

MAX_OPEN = 16


@dataclass(slots=True)
class Read:
    """The calls read in one input. `gave_up`: the input was too costly to read to its end."""

    calls: set[bytes] = field(default_factory=set)
    gave_up: bool = False


class PlainQuotes:
    """The calls that occur in the inputs (player text, tool results)."""

    def __init__(self, messages: Sequence[Message], offer: Offer, readers: Sequence[Reader]) -> None:
        self._inputs = [text for text in inputs_of(messages) if may_hold_call(text)]
        self._offer = offer
        self._readers = readers

    def without(self, found: Candidate, text: str) -> Candidate:
        """The candidate without calls that an input holds."""
        if not found.drafts or not self._inputs:
            return found
        if any(_squeeze(text[found.start : found.end]) in _squeeze(known) for known in self._inputs):
            return Candidate(found.start, found.end, (), found.repaired)
        own = tuple(draft for draft in found.drafts if not any(self._holds(known, draft) for known in self._inputs))
        return Candidate(found.start, found.end, own, found.repaired)

    def _holds(self, known: str, draft: Draft) -> bool:
        read = self._read_one(known)
        return _canonical(draft) in read.calls or is_hidden(draft, Traces(known), sure=not read.gave_up)

    def _read_one(self, text: str) -> Read:
        read = Read()
        for spelling in _spellings(text):
            for reader in self._readers:
                read.calls.update(map(_canonical, drafts_in(spelling, self._offer, reader, read)))
        return read


def inputs_of(messages: Sequence[Message]) -> list[str]:
    """The untrusted text of a prompt."""
    spoken: list[str] = []
    heard: list[str] = []
    for message in messages:
        if message.role is Role.USER:
            spoken += [block.text for block in message.blocks if isinstance(block, Text)]
        heard += [result.text for result in message.tool_results]
    return spoken + heard


def is_hidden(draft: Draft, traces: Traces, *, sure: bool) -> bool:
    """Whether an input shows traces of a call that was not read in it."""
    if traces.name_of(draft):
        return not sure or traces.texts_of(draft) is not False
    return not sure and traces.texts_of(draft) is True


def drafts_in(text: str, offer: Offer, reader: Reader, read: Read) -> Iterator[Draft]:
    """Every call a reader sees in an input, also after a value that the input leaves open."""
    budget = WorkBudget(len(text))
    for _ in range(MAX_OPEN):
        reading = reader(text, offer, True, budget)
        for found in reading.candidates:
            yield from found.drafts
        if reading.cut is None or budget.left <= 0:
            break
        text, budget.deep_until = text[reading.cut + 1 :], 0
    else:
        read.gave_up = True
    read.gave_up |= budget.left <= 0
