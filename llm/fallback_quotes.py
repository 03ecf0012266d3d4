"""Calls that stand in what strangers wrote: a model that repeats one has been told to, and it is not executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import orjson

from llm.fallback_formats import Candidate, Draft, Offer, Reader

#: Blanks, backslashes and the escapes of line breaks: what may differ between two spellings of one JSON text.
_SPELLING = re.compile(r"\\[nrt]|[\s\\]+")
#: How often reading goes on behind a value that an input leaves open.
_MAX_OPEN = 16
_OPENERS = "{[(<:"


class Quotes:
    """The calls that occur in the inputs: player text, tool results. Read only when there is a call to compare."""

    def __init__(self, inputs: Sequence[str], offer: Offer, readers: Sequence[Reader]) -> None:
        self._inputs = [text for text in inputs if any(opener in text for opener in _OPENERS)]
        self._offer = offer
        self._readers = readers

    def without(self, found: Candidate, text: str) -> Candidate:
        """The candidate without the calls that an input holds, verbatim or in another spelling."""
        if not self._inputs or not found.drafts:
            return found
        if any(_squeezed(text[found.start : found.end]) in known for known in self._texts):
            return Candidate(found.start, found.end, (), found.repaired)
        own = tuple(draft for draft in found.drafts if _canonical(draft) not in self._calls)
        return Candidate(found.start, found.end, own, found.repaired)

    @cached_property
    def _texts(self) -> list[str]:
        return [_squeezed(text) for text in self._inputs]

    @cached_property
    def _calls(self) -> frozenset[bytes]:
        return frozenset(
            _canonical(draft)
            for text in self._inputs
            for spelling in _spellings(text)
            for reader in self._readers
            for draft in _drafts(spelling, self._offer, reader)
        )


def _drafts(text: str, offer: Offer, reader: Reader) -> Iterator[Draft]:
    """Every call a reader sees in an input, also behind a value that the input leaves open."""
    for _ in range(_MAX_OPEN):
        reading = reader(text, offer, True)
        for found in reading.candidates:
            yield from found.drafts
        if reading.cut is None:
            return
        text = text[reading.cut + 1 :]


def _spellings(text: str) -> Iterator[str]:
    """The text, and what it would be if it were the inside of a JSON string."""
    yield text
    if "\\" in text:
        yield text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def _squeezed(text: str) -> str:
    return _SPELLING.sub("", text)


def _canonical(draft: Draft) -> bytes:
    return orjson.dumps([draft.name, draft.arguments, draft.problem], option=orjson.OPT_SORT_KEYS)
