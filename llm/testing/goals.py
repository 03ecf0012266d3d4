"""What a model is told to do: the marked goals in any text, plain or disguised, and the turns of a request.

    OBEY(tool)                                  a call without arguments
    OBEY(tool key="a text" other='b' n=3)       arguments: texts in quotes, or bare JSON scalars and words
    OBEY*7(tool key="a text")                   the same call seven times in one answer

Letters may be capital or small. A goal is found as it stands and, at most two deep, reversed, in base64, hex,
percent-encoding, ROT13, HTML entities, JSON strings, full-width letters and tag characters, or split by zero-width
characters or by blanks.

A request of any protocol is read as what was heard, called and answered.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import unquote

import orjson
from msgspec import Struct

from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.llm.testing.script import Call, RecordedRequest

#: How many disguises may be applied on top of each other.
MAX_DEPTH = 2
#: How often one goal may ask for its call.
MAX_TIMES = 64
_VALUE = r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|[^\s()\"']++"
_GOAL = re.compile(
    rf"OBEY(?:\*(?P<times>\d{{1,3}}))?\(\s*+(?P<tool>\w{{1,64}}+)(?P<rest>(?:\s++\w{{1,64}}+=(?:{_VALUE}))*+)\s*+\)",
    re.IGNORECASE,
)
_ARGUMENT = re.compile(rf"(?P<key>\w{{1,64}}+)=(?P<value>{_VALUE})")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{12,}={0,2}")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}[\s:]?){8,}")
_SPACED = re.compile(r"O([ .\-_])B\1E\1Y", re.IGNORECASE)
_JSON_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\ufe00-\ufe0f]")
_URL_SAFE = {ord("-"): "+", ord("_"): "/"}
_PAIR_MARK = re.compile(r"[\s:]")
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_WRITTEN_RESULT = re.compile(r"\[(?:result|failed) of (\w+)\] ?")


class Goal(Struct, frozen=True):
    """A call that a text demands. `arguments` is its JSON text, so that equal goals are equal; `times` is how often."""

    tool: str
    arguments: str = "{}"
    times: int = 1

    @property
    def call(self) -> Call:
        """The call."""
        given: JSONObject = orjson.loads(self.arguments)
        return Call(self.tool, given)


def find_goals(texts: Iterable[str]) -> list[Goal]:
    """Return the goals of the texts in the order in which they are met, each once."""
    found: dict[Goal, None] = {}
    for text in texts:
        found.update(dict.fromkeys(_all_goals(text)))
    return list(found)


@lru_cache(maxsize=4096)  # each request brings the texts of the one before
def _all_goals(text: str) -> tuple[Goal, ...]:
    return tuple(_goals(text, MAX_DEPTH))


def _goals(text: str, depth: int) -> Iterator[Goal]:
    for match in _GOAL.finditer(text):
        given = {part["key"]: _value(part["value"]) for part in _ARGUMENT.finditer(match["rest"])}
        times = min(MAX_TIMES, int(match["times"] or 1))
        yield Goal(match["tool"].lower(), orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode(), times)
    if depth:
        for plain in _undisguise(text):
            yield from _goals(plain, depth - 1)


def _value(written: str) -> JSON:
    """Return the value of an argument: a text in quotes, a JSON scalar, or the bare word."""
    if written[0] in "\"'" and written[-1] == written[0]:
        return re.sub(r"\\(.)", r"\1", written[1:-1])
    try:
        scalar: JSON = orjson.loads(written)
    except orjson.JSONDecodeError:
        return written
    return scalar


def _undisguise(text: str) -> Iterator[str]:
    """Yield what the text would be under each disguise of which it shows a sign."""
    lower = text.lower()
    if "yebo" in lower:
        yield text[::-1]
    if "borl" in lower:
        yield codecs.decode(text, "rot13")
    if "%" in text and (plain := unquote(text)) != text:
        yield plain
    if "&" in text and (plain := html.unescape(text)) != text:
        yield plain
    if "\\" in text:
        yield _JSON_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text)
    if not text.isascii():
        visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text.translate(_TAGS)))
        if visible != text:
            yield visible
    for spaced in _SPACED.finditer(text):
        yield text[spaced.start() :: 2]
    yield from _decode(text)


def _decode(text: str) -> Iterator[str]:
    """Yield what the base64 and hex in the text stand for, where that is text."""
    for match in _BASE64.finditer(text):
        body = match.group().rstrip("=").translate(_URL_SAFE)
        try:
            yield base64.b64decode(body + "=" * (-len(body) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
    for match in _HEX.finditer(text):
        try:
            yield bytes.fromhex(_PAIR_MARK.sub("", match.group())).decode()
        except UnicodeDecodeError:
            continue


class Turn(Struct, frozen=True):
    """One piece of the conversation. `tool` is the tool that a result comes from, where the protocol says so."""

    kind: Literal["told", "heard", "said", "called", "result"]
    text: str
    tool: str = ""


def turns_of(request: RecordedRequest) -> list[Turn]:
    """Return every text of the request in order, the system's first. Calls are given as JSON."""
    turns = list(_content("told", request.body.get("system"), {}))
    names: dict[str, str] = {}
    for message in request.messages:
        turns += _message(message, names)
    return turns


def _message(message: Mapping[str, Any], names: dict[str, str]) -> Iterator[Turn]:
    """Yield the turns of one message. `names` records which call asked for which tool."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        tool = str(message.get("tool_name") or names.get(str(message.get("tool_call_id")), ""))
        yield Turn("result", _plain(content), tool)
        return
    kind: Literal["told", "heard", "said"] = "heard" if role == "user" else "said" if role == "assistant" else "told"
    yield from _content(kind, content, names)
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {}
        names[str(call.get("id"))] = str(function.get("name"))
        yield Turn("called", _plain(function.get("arguments")), str(function.get("name")))


def _content(kind: Literal["told", "heard", "said"], content: object, names: dict[str, str]) -> Iterator[Turn]:
    """Yield the turns of a message's content: a text, or blocks as Anthropic and Chat Completions have them."""
    for block in content if isinstance(content, list) else [content]:
        match block:
            case {"type": "tool_use", "id": call_id, "name": str(name), "input": given}:
                names[str(call_id)] = name
                yield Turn("called", _plain(given), name)
            case {"type": "tool_result", "tool_use_id": call_id, **rest}:
                yield Turn("result", _plain(rest.get("content")), names.get(str(call_id), ""))
            case None | "":
                continue
            case _:
                yield from _read_written(kind, _plain(block))


def _read_written(kind: Literal["told", "heard", "said"], text: str) -> Iterator[Turn]:
    """Yield a text. It is a result when the JSON fallback wrote one as text."""
    written = _WRITTEN_RESULT.match(text) if kind == "heard" else None
    yield Turn("result", text[written.end() :], written[1]) if written else Turn(kind, text)


def _plain(content: object) -> str:
    """Return a value that stands for text as text, and any other value as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    if isinstance(content, list):
        return "".join(map(_plain, content))
    return orjson.dumps(content).decode() if content is not None else ""
