"""Traces of a call in a text that the readers may not have understood: its name and the texts it is given.

Both are looked for in one plain form of the text, in linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache

from mud_assistant.llm.fallback.drafts import Draft
from mud_assistant.llm.messages import JSON

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
        return self.calls(draft.name)

    def calls(self, tool: str) -> bool:
        """Tell whether this name stands somewhere as only the name of a call does."""
        name = _plain_name(tool)
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


_plain_name = lru_cache(maxsize=256)(_plain)


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
