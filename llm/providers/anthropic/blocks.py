"""Anthropic's content blocks: assembled from their pieces, added to the answer, kept raw for replay.

Server tools are known by the shape of a block's type, not by a list of names. A block of unknown type is kept as it
came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mud_assistant.llm.loose_json.repair import holds_nothing, parse_arguments
from mud_assistant.llm.messages import Citation, JSONObject, ServerToolCall, ServerToolResult
from mud_assistant.llm.providers.provider import NAMELESS
from mud_assistant.llm.wire.building import AnswerBuilder

#: The field of a delta that holds its piece, and the field of its block that the piece goes to.
_DELTAS: Mapping[str, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
    "compaction_delta": ("content", "content"),
}
#: The fields that pieces may go to in blocks of known type. In other blocks they may go to any.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "tool_use": ("input",),
}
#: How many characters of a server tool's result its neutral form shows.
_MAX_SHOWN = 2000


class ContentBlock:
    """One block, from its start to its end. `start` is the record that opened it, or a whole block."""

    def __init__(self, index: int, start: Mapping[str, Any]) -> None:
        self.kind = str(start.get("type") or "")
        self._index = index
        self._start = start
        self._pieces: dict[str, list[str]] = {}
        #: The fields that pieces may go to, None for any.
        self._fields = _FIELDS.get(self.kind)
        self._citations: list[Mapping[str, Any]] = _objects(start.get("citations"))

    def open(self, answer: AnswerBuilder) -> None:
        """Add what the block's start says."""
        if self.kind == "tool_use":
            answer.add_call(self._index, self._string("id"), self._string("name"), None)
        else:
            _add_piece(self.kind, self._string(self.kind), answer)

    def take(self, delta: Mapping[str, Any], answer: AnswerBuilder) -> bool:
        """Add a piece, and return True. A piece of unknown kind, or of a kind this block does not take, is dropped."""
        kind = delta.get("type")
        if kind == "citations_delta":
            self._citations += _objects([delta.get("citation")])
            return True
        source, target = _DELTAS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        piece = delta.get(source)
        if not isinstance(piece, str) or (self._fields is not None and target not in self._fields):
            return False
        if (pieces := self._pieces.get(target)) is None:
            pieces = self._pieces[target] = []
        pieces.append(piece)
        if self.kind == "tool_use":
            answer.add_call(self._index, None, None, piece)
        elif target == self.kind:
            _add_piece(target, piece, answer)
        return True

    def close(self, answer: AnswerBuilder) -> None:
        """Add what is known only at the end of the block: a seal, sources, or what a server tool did."""
        match self.kind:
            case "text":
                for citation in self._citations:
                    answer.add_block(_citation(citation))
            case "thinking" if seal := self._whole().get("signature"):
                answer.add_reasoning("", str(seal))
            case "tool_use" if "input" not in self._pieces and (given := self._start.get("input")):
                answer.add_call(self._index, None, None, given if isinstance(given, Mapping) else {})
            case kind if is_server_call(kind):
                arguments = self._whole().get("input")
                given = arguments if isinstance(arguments, Mapping) else {}
                answer.add_block(ServerToolCall(self._string("id"), self._string("name"), given))
            case kind if is_server_result(kind):
                answer.add_block(_server_result(self._whole()))

    def replay(self) -> JSONObject | None:
        """Return the block as it is sent back.

        Returns None for what the API would refuse: blank text, reasoning without its seal, an empty call.
        """
        raw = self._whole()
        if self.kind == "text" and not str(raw.get("text") or "").strip():
            return None
        if not self.kind or (self.kind == "thinking" and not raw.get("signature")):
            return None
        if self.kind == "tool_use" and not self._string("name").strip():
            if not raw.get("input") and holds_nothing("".join(self._pieces.get("input", ()))):
                return None  # not a real call, so nothing will answer it
            raw["name"] = NAMELESS
        try:
            orjson.dumps(raw)
        except TypeError:  # nested too deeply to be encoded again
            return None
        return raw

    def _whole(self) -> dict[str, Any]:
        block: dict[str, Any] = dict(self._start)
        for target, pieces in self._pieces.items():
            joined = "".join(pieces)
            if target != "input":
                block[target] = self._string(target) + joined
            elif joined.strip():
                block["input"] = parse_arguments(joined, complete=False)[0]
        if self._citations:
            block["citations"] = list(self._citations)
        return block

    def _string(self, key: str) -> str:
        value = self._start.get(key)
        return value if isinstance(value, str) else ""


def _add_piece(field: str, piece: str, answer: AnswerBuilder) -> None:
    if field == "text" and piece:
        answer.add_text(piece)
    elif field == "thinking" and piece:
        answer.add_reasoning(piece)


def is_server_call(kind: str) -> bool:
    """Tell whether a block of this type is a call that the provider answers itself."""
    return kind.endswith("_tool_use")


def is_server_result(kind: str) -> bool:
    """Tell whether a block of this type answers such a call."""
    return kind.endswith("_tool_result")


def _citation(raw: Mapping[str, Any]) -> Citation:
    title = raw.get("title") or raw.get("document_title")
    return Citation(str(raw.get("cited_text") or ""), str(raw.get("url") or raw.get("source") or ""), str(title or ""))


def _server_result(raw: Mapping[str, Any]) -> ServerToolResult:
    """Return the result in short. An error becomes a note with the provider's word for it."""
    content = raw.get("content")
    call_id, name = str(raw.get("tool_use_id") or ""), str(raw["type"]).removesuffix("_tool_result")
    if isinstance(content, Mapping) and str(content.get("type")).endswith("_error"):
        return ServerToolResult(call_id, name, str(content.get("error_code") or "failed"), failed=True)
    entries = [{"text": content}] if isinstance(content, str) else _objects(content)
    shown = "\n".join(line for entry in entries if (line := _line(entry)))[:_MAX_SHOWN]
    return ServerToolResult(call_id, name, shown, failed=raw.get("is_error") is True)


def _line(entry: Mapping[str, Any]) -> str:
    inner = entry.get("content")
    title = entry.get("title") or (inner.get("title") if isinstance(inner, Mapping) else None)
    words = [title, *(entry.get(key) for key in ("url", "text", "stdout"))]
    return " ".join(word for word in words if isinstance(word, str) and word)


def _objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list, or the one object there is."""
    entries: Sequence[object] = value if isinstance(value, list) else [value]
    return [entry for entry in entries if isinstance(entry, Mapping)]
