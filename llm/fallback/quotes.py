"""Finds calls quoted from untrusted input. A model that repeats such a call was told to, so it is not executed.

An input is read in the same way as an answer. What the readers could not read there counts against the call, never for
it: junk that used up the readers' effort, a call inside other JSON, an escape within an escape. There the traces of the
call are looked for, its name where calls have theirs and the texts it is given, in one plain form of the text and in
linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import orjson

from llm.fallback.drafts import Candidate, Draft, Offer, Reader
from llm.loose_json.tokens import WorkBudget
from llm.messages import JSON

_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:u(?P<u>[0-9A-Fa-f]{4})|x(?P<x>[0-9A-Fa-f]{2})|U(?P<long>[0-9A-Fa-f]{8})|(?P<octal>[0-7]{1,3})"
    r"|N\{(?P<name>[\w \-]{1,80})\}|[bfnrt](?P<blank>))"
)
#: The gap between two adjacent Python strings that are one text: `'all ' u'gold'`.
_JOINT = re.compile(r"[\"'](?:\s|#[^\n]*+\n)*+[uUrR]?[\"']")
_OPENING = ('"', "'", "\u201c", "\u2018")
_QUOTES = dict.fromkeys(map(ord, "\"'`*\\\u201c\u201d\u201e\u2018\u2019"))
_BLANKS = re.compile(r"(?<=[:=<\[{]) | (?=[:={<\[])")
_NOT_LETTERS = re.compile(r"[\W_]++")
#: After these, any quoted or bare word is a name: the keys of the JSON formats, ReAct, tags, attributes.
_KEYS = ("tool:", "name:", "function:", "action:", "=", "<")
#: These formats need no bracket right after the name.
_CODE = ("tool_code", "python_tag", "function_calls", "tool_call_start")
_LAST_CODE_POINT = 0x10FFFF
_ASCII = 128
_MOST_EXPANDED = 3
_LEVELS = 64
#: How many characters of a text are looked up by name. The look-up is slow.
_MOST_NAMED = 300
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


class _Narrow(dict[int, str]):
    """A table of each character's plain form, worked out once. Full-width letters become ordinary letters."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKC", chr(code)) if code >= _ASCII else chr(code)
        found = plain if len(plain) <= _MOST_EXPANDED else chr(code)
        if len(self) < _LAST_CODE_POINT // 16:
            self[code] = found
        return found


_NARROW = _Narrow()


class Traces:
    """One text to be searched for traces of calls."""

    def __init__(self, text: str) -> None:
        self._text = text

    def name_of(self, draft: Draft) -> bool:
        """Tell whether the tool's name stands somewhere as only the name of a call does."""
        name = _plain(draft.name)
        if name not in self._plain:
            return False
        shape = self._shape
        if _is_called(name).search(shape):
            return True
        is_code = any(mark in shape for mark in _CODE)
        return is_code and _is_applied(name).search(shape) is not None

    def texts_of(self, draft: Draft) -> bool | None:
        """Tell whether every text among the arguments occurs in the text. None when the arguments have no text."""
        texts = [letters for text in _texts(draft.arguments, _LEVELS) if (letters := _letters(_plain(text)))]
        return all(text in self._letters for text in texts) if texts else None

    @cached_property
    def _plain(self) -> str:
        return _plain(self._text)

    @cached_property
    def _shape(self) -> str:
        """The text without quotes and without blanks at its marks. The end of a comment counts as a mark."""
        text = self._plain
        if "//" in text or "#" in text:
            text = "\n".join("=" * line.lstrip().startswith(_OPENING) + line for line in text.splitlines())
        text = text.replace("/*", "{").replace("*/", "=").translate(_QUOTES)
        return _BLANKS.sub("", " ".join(text.split()))

    @cached_property
    def _letters(self) -> str:
        return _letters(_JOINT.sub("", self._plain))


def _plain(text: str) -> str:
    """Return the text with all escapes undone, however deep, in lower case and ordinary letters."""
    if "\\" in text:
        names = iter(range(_MOST_NAMED))
        text = _ESCAPE.sub(lambda match: _unescape(match, names), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.casefold() if text.isascii() else text.translate(_NARROW).casefold()


def _unescape(match: re.Match[str], names: Iterator[int]) -> str:
    """Return the character of one escape. `names` runs out when enough characters were looked up by name."""
    if match["blank"] is not None:
        return "\n"
    if match["name"] is not None:
        try:
            return unicodedata.lookup(match["name"]) if next(names, None) is not None else match.group()
        except KeyError:
            return match.group()
    digits = match["u"] or match["x"] or match["long"]
    code = int(digits, 16) if digits else int(match["octal"], 8)
    return chr(code) if code <= _LAST_CODE_POINT else match.group()


def _letters(text: str) -> str:
    """Return only what is said, without blanks, quotes, brackets and marks, in which two spellings may differ."""
    return _NOT_LETTERS.sub("", text)


def _texts(value: JSON, levels: int) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif levels and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, levels - 1)


@lru_cache(maxsize=256)
def _is_called(name: str) -> re.Pattern[str]:
    """Build a pattern for the name after one of the keys, or before the bracket, tag or mark of its arguments."""
    behind = "|".join(f"(?<={re.escape(key)})" for key in _KEYS)
    word = re.escape(name)
    return re.compile(
        rf"(?:{behind}){word}(?!\w)"
        rf"|(?<!\w){word}(?:(?:\.call)?\(|(?::\d{{1,6}}|:)?(?:\s*+(?:json|code|commentary|analysis)\s*+)?+(?:[{{<\[#]|//))"
        rf"|(?<=\[){word}\s\("
    )


@lru_cache(maxsize=256)
def _is_applied(name: str) -> re.Pattern[str]:
    """Build a pattern for the name before a bracket of Python code."""
    return re.compile(rf"(?<!\w){re.escape(name)}\s*+\(")
