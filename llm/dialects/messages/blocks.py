"""Makes the content blocks of Anthropic's Messages API: whole, and as a stream of one block after the other.

In a stream only one block is open at a time, while the calls of other servers may take turns. What comes while the
arguments of another call are open is held back until they are whole JSON, at the latest until the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

import orjson

from mud_assistant.llm.messages import JSON, Citation, JSONObject, ServerToolCall, ServerToolResult

_DELTA = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":%b}}\n\n'
)
#: The one server tool whose blocks are made.
_SEARCH = "web_search"


@dataclass(slots=True)
class SaidText:
    """A piece of text."""

    text: str


@dataclass(slots=True)
class Thought:
    """A piece of reasoning; with a seal its block ends."""

    text: str
    seal: str = ""


@dataclass(slots=True)
class Calling:
    """A call, and the pieces of its arguments so far."""

    number: int
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a whole JSON object, to which nothing can be added."""
        if not (self.pieces and self.pieces[-1].rstrip().endswith("}")):
            return False
        try:
            orjson.loads("".join(self.pieces))
        except orjson.JSONDecodeError:
            return False
        return True


_Part = SaidText | Thought | Calling | ServerToolCall | ServerToolResult | Citation


class BlockStream:
    """The content blocks of one answer. No block is empty, and blanks alone make no block."""

    def __init__(self) -> None:
        self._index = -1
        #: The kind of the open block, empty when none is.
        self._kind = ""
        self._call: Calling | None = None
        #: Blanks that begin a text, until it is known that there is more to it.
        self._blanks = ""
        #: Whether the open text has a source. What is said after that is another block.
        self._is_cited = False
        self._held: list[_Part] = []

    def take(self, part: _Part) -> bytes:
        """Return what the next part adds, which is nothing while another call is open."""
        if self._call is None or (not self._held and self._call.is_whole):
            return self._write(part)
        self._held.append(part)
        return self._release()

    def arguments(self, number: int, piece: str) -> bytes:
        """Return what a piece of a call's arguments adds. Nothing can be added to a call whose block is closed."""
        if self._call is not None and self._call.number == number:
            self._call.pieces.append(piece)
            return self._delta(b"input_json_delta", b"partial_json", piece) + self._release()
        for part in self._held:
            if isinstance(part, Calling) and part.number == number:
                part.pieces.append(piece)
        return self._release()

    def end(self) -> bytes:
        """Return what was held back, and the end of the last block."""
        held, self._held = self._held, []
        return b"".join([*map(self._write, held), self._close()])

    def _release(self) -> bytes:
        """Return what was held back and need not be any more."""
        released = []
        while self._held and (self._call is None or self._call.is_whole):
            released.append(self._write(self._held.pop(0)))
        return b"".join(released)

    def _write(self, part: _Part) -> bytes:
        match part:
            case SaidText():
                return self._said(part.text)
            case Thought():
                return self._thought(part)
            case Calling():
                opened = self._begin("tool_use", {"id": part.id, "name": part.name, "input": {}})
                self._call = part
                given = "".join(part.pieces)
                return opened + (self._delta(b"input_json_delta", b"partial_json", given) if given else b"")
            case Citation():
                return self._cited(part)
            case ServerToolCall():
                opened = self._begin("server_tool_use", {"id": part.id, "name": part.name, "input": {}})
                given = orjson.dumps(part.arguments).decode()
                return opened + self._delta(b"input_json_delta", b"partial_json", given) + self._close()
            case ServerToolResult():
                whole = dict(server_result(part))
                return self._begin(str(whole.pop("type")), whole) + self._close()
            case _:
                assert_never(part)

    def _said(self, text: str) -> bytes:
        closed = b""
        if self._kind == "text" and self._is_cited:
            closed = self._close()
        if self._kind == "text":
            return self._delta(b"text_delta", b"text", text)
        self._blanks += text
        if not self._blanks.strip():
            return closed
        text, self._blanks = self._blanks, ""
        return closed + self._begin("text", {"text": ""}) + self._delta(b"text_delta", b"text", text)

    def _thought(self, part: Thought) -> bytes:
        rendered = b""
        if self._kind != "thinking":
            if not (part.text or part.seal):
                return b""
            rendered = self._begin("thinking", {"thinking": "", "signature": ""})
        if part.text:
            rendered += self._delta(b"thinking_delta", b"thinking", part.text)
        if part.seal:
            rendered += self._delta(b"signature_delta", b"signature", part.seal) + self._close()
        return rendered

    def _cited(self, source: Citation) -> bytes:
        """Return the source of the open text. Without a text there is nothing that it is the source of."""
        if self._kind != "text":
            return b""
        self._is_cited = True
        return self._delta(b"citations_delta", b"citation", citation(source))

    def _delta(self, kind: bytes, name: bytes, value: JSON) -> bytes:
        return _DELTA % (self._index, kind, name, orjson.dumps(value))

    def _begin(self, kind: str, fields: JSONObject) -> bytes:
        """Return the end of the open block and the start of another."""
        closed = self._close()
        self._index += 1
        self._kind, self._is_cited = kind, False
        block: JSONObject = {"type": kind, **fields}
        return closed + event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _close(self) -> bytes:
        self._blanks = ""
        if not self._kind:
            return b""
        self._kind, self._call = "", None
        return event({"type": "content_block_stop", "index": self._index})


def event(data: Mapping[str, JSON]) -> bytes:
    """Return a server-sent event, which is named by the type of its data."""
    return b"event: %b\ndata: %b\n\n" % (str(data["type"]).encode(), orjson.dumps(data))


def citation(source: Citation) -> JSONObject:
    """Return a source as the API gives it. What the API encrypts is empty."""
    return {
        "type": "web_search_result_location",
        "cited_text": source.text,
        "url": source.url,
        "title": source.title or None,
        "encrypted_index": "",
    }


def is_shown(block: ServerToolCall | ServerToolResult | Citation) -> bool:
    """Tell whether a step has a block that can be made of what is known of it: a search, or a source.

    The results of other server tools have forms of their own, which cannot be made again of their short text.
    """
    return isinstance(block, Citation) or block.name == _SEARCH


def server_result(result: ServerToolResult) -> JSONObject:
    """Return the result of a search as a block. A line of it that ends with an address is a page found."""
    kind = f"{result.name}_tool_result"
    content: JSON
    if result.failed:
        content = {"type": f"{kind}_error", "error_code": result.text}
    else:
        content = [page for line in result.text.splitlines() if (page := _page(line)) is not None]
    return {"type": kind, "tool_use_id": result.call_id, "content": content}


def _page(line: str) -> JSONObject | None:
    title, _, last = line.rpartition(" ")
    if not last.startswith(("http://", "https://")):
        return None
    return {"type": "web_search_result", "title": title or last, "url": last, "encrypted_content": "", "page_age": None}
