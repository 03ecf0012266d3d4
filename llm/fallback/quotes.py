"""Finds calls quoted from untrusted input. A model that repeats such a call was told to, so it is not executed.

An input is read in the same way as an answer. What the readers could not read there counts against the call, never for
it: junk that used up the readers' effort, a call inside other JSON, an escape within an escape. There the traces of the
call are looked for. Each message is read once: what was heard in it stays with it, and goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import orjson

from mud_assistant.llm.fallback.drafts import Candidate, Draft, Offer, Reader
from mud_assistant.llm.fallback.traces import Traces
from mud_assistant.llm.loose_json.tokens import WorkBudget
from mud_assistant.llm.messages import Message, Role, Text, ToolSpec
from mud_assistant.llm.packing.packed import Packed, Part, parts_of

#: Blanks, backslashes and escaped line breaks: what may differ between two spellings of one JSON text.
_SPELLING = re.compile(r"\\[nrt]|[\s\\]+")
#: How often reading continues after a value that an input leaves open.
_MAX_OPEN = 16
_OPENERS = "{[(<:\\"


@dataclass(slots=True)
class UntrustedCalls:
    """What the untrusted texts of a message, or of a row of packed ones, hold that a call is compared with.

    `read` counts the messages that were read. `spelled` is every text without its spelling, each after a line break.
    `calls` are the calls that were read. `traced` are the texts with traces of a call to an offered tool, each with the
    tool. `doubtful` are the texts that were too costly to read to their end.
    """

    tools: Sequence[ToolSpec]
    read: int = 0
    spelled: str = ""
    calls: frozenset[bytes] = frozenset()
    traced: tuple[tuple[str, Traces], ...] = ()
    doubtful: tuple[Traces, ...] = ()

    def hear(self, text: str, offer: Offer, readers: Sequence[Reader]) -> None:
        """Read one more text."""
        self.spelled += "\n" + _squeeze(text)
        calls, gave_up = _read(text, offer, readers)
        traces = Traces(text)
        if calls:
            self.calls |= calls
        if gave_up:
            self.doubtful += (traces,)
        else:
            self.traced += tuple((name, traces) for name in offer.names if traces.calls(name))

    def holds(self, draft: Draft, call: bytes) -> bool:
        """Tell whether a text holds the call of an offered tool, or hides it.

        Where the readers read everything, the name and the texts must both be there. Where they gave up, one of the two
        is enough.
        """
        return (
            call in self.calls
            or any(name == draft.name and traces.texts_of(draft) is not False for name, traces in self.traced)
            or any(traces.name_of(draft) or traces.texts_of(draft) is True for traces in self.doubtful)
        )


#: What is heard in a message without any input, whatever the tools.
_SILENCE = UntrustedCalls((), 1)


class Quotes:
    """The calls that occur in the inputs (player text, tool results). Read only when there is a call to compare."""

    def __init__(self, messages: Sequence[Message], offer: Offer, readers: Sequence[Reader]) -> None:
        self._messages = messages
        self._offer = offer
        self._readers = readers

    def without(self, found: Candidate, text: str) -> Candidate:
        """Return the candidate without calls that an input holds: verbatim, in another spelling, or hidden in junk."""
        if not found.drafts or not self._heard:
            return found
        spelled = _squeeze(text[found.start : found.end])
        if any(spelled in heard.spelled for heard in self._heard):
            return Candidate(found.start, found.end, (), found.repaired)
        own = tuple(draft for draft in found.drafts if not self._holds(draft))
        return Candidate(found.start, found.end, own, found.repaired)

    def _holds(self, draft: Draft) -> bool:
        call = _canonical(draft)
        if any(heard.holds(draft, call) for heard in self._suspect):
            return True
        return draft.name not in self._offer.names and self._names(draft)

    def _names(self, draft: Draft) -> bool:
        """Tell whether an input shows traces of a call to a tool that was not offered. Reads every input again."""
        inputs = map(Traces, _inputs_of(self._messages))
        return any(traces.name_of(draft) and traces.texts_of(draft) is not False for traces in inputs)

    @cached_property
    def _heard(self) -> list[UntrustedCalls]:
        """What was heard in the parts of the prompt that have inputs."""
        offer, readers = self._offer, self._readers
        return [heard for part in parts_of(self._messages) if (heard := heard_in(part, offer, readers)).spelled]

    @cached_property
    def _suspect(self) -> list[UntrustedCalls]:
        """Those of them that hold any call or its traces: few, so that a draft is compared with few."""
        return [heard for heard in self._heard if heard.calls or heard.traced or heard.doubtful]


def heard_in(part: Part, offer: Offer, readers: Sequence[Reader]) -> UntrustedCalls:
    """Return what is heard in a part of a prompt. Only what is new in it is read; the rest was kept with it."""
    kept = part.heard
    if kept is _SILENCE:
        return _SILENCE
    heard = kept if isinstance(kept, UntrustedCalls) and kept.tools == offer.tools else UntrustedCalls(offer.tools)
    count = len(part) if isinstance(part, Packed) else 1
    if heard.read < count:
        for text in _inputs_of(part.span(heard.read, count) if isinstance(part, Packed) else (part,)):
            heard.hear(text, offer, readers)
        heard.read = count
        silent = isinstance(part, Message) and not heard.spelled
        object.__setattr__(part, "heard", _SILENCE if silent else heard)  # a cache of a frozen value
    return heard


def may_hold_call(text: str) -> bool:
    """Tell whether the text has at least one of the characters without which no reader sees a call."""
    return any(map(text.__contains__, _OPENERS))  # many times as fast as a pattern in a long text


def _inputs_of(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the untrusted texts that may hold a call: a call quoted from them is not the model's own."""
    for message in messages:
        spoken = message.role is Role.USER
        texts = [block.text for block in message.blocks if isinstance(block, Text)] if spoken else []
        texts += [result.text for result in message.tool_results]
        yield from filter(may_hold_call, texts)


def _read(text: str, offer: Offer, readers: Sequence[Reader]) -> tuple[set[bytes], bool]:
    """Return the calls of an input, and whether it was too costly to read to its end."""
    calls: set[bytes] = set()
    gave_up = False
    for spelling in _spellings(text):
        for reader in readers:
            drafts, too_costly = _drafts(spelling, offer, reader)
            calls.update(map(_canonical, drafts))
            gave_up |= too_costly
    return calls, gave_up


def _drafts(text: str, offer: Offer, reader: Reader) -> tuple[list[Draft], bool]:
    """Return every call a reader sees in an input, also after a value left open, and whether the reader gave up.

    One budget covers it all.
    """
    budget = WorkBudget(len(text))
    drafts: list[Draft] = []
    for _ in range(_MAX_OPEN):
        reading = reader(text, offer, True, budget)
        drafts += [draft for found in reading.candidates for draft in found.drafts]
        if reading.cut is None or budget.left <= 0:
            return drafts, budget.left <= 0
        text, budget.deep_until = text[reading.cut + 1 :], 0
    return drafts, True


def _spellings(text: str) -> Iterator[str]:
    """Yield the text, and the text it would be as the inside of a JSON string."""
    yield text
    if "\\" in text:
        yield text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def _squeeze(text: str) -> str:
    return _SPELLING.sub("", text)


def _canonical(draft: Draft) -> bytes:
    return orjson.dumps([draft.name, draft.arguments, draft.problem], option=orjson.OPT_SORT_KEYS)
