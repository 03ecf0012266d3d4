"""The items of an answer: assembled from their pieces, added to the answer, kept raw for replay.

What a server runs itself is known by the shape of an item's type, not by a list of names. What a `.done` event or the
whole item says wins over the pieces before it. An item of unknown type is kept as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from llm.loose_json.repair import parse_arguments
from llm.messages import Citation, JSONObject, ServerToolCall, ServerToolResult
from llm.providers.provider import NAMELESS
from llm.wire.building import AnswerBuilder

CALL, MESSAGE, REASONING = "function_call", "message", "reasoning"
_COMMENTARY = "commentary"
#: The field of a part that holds its text.
_TEXTS = ("text", "refusal")
#: How many characters of a server tool's result its neutral form shows.
_MAX_SHOWN = 2000


class OutputItem:
    """One item, from its first event to its last.

    `number` is its place among the items of its answer, and the index of its call. `start` is the item as it was added.
    """

    def __init__(self, number: int, start: Mapping[str, Any]) -> None:
        self.kind = _string(start, "type")
        self.id = _string(start, "id")
        self.raw: Mapping[str, Any] = start
        self.is_closed = False
        self.was_refused = False
        self._number = number
        self._is_commentary = start.get("phase") == _COMMENTARY
        #: The pieces of each part so far, by the part's field and index.
        self._parts: dict[tuple[str, int], list[str]] = {}
        self._arguments: list[str] = []

    def open(self, answer: AnswerBuilder) -> None:
        """Add what the item's start says."""
        if self.kind == CALL:
            answer.add_call(self._number, _string(self.raw, "call_id"), _string(self.raw, "name"), None)

    def take_text(self, field: str, part: int, piece: str, answer: AnswerBuilder) -> None:
        """Add a piece of the part `part` of a field: `text` or `refusal` of a message, `summary` or `content`."""
        pieces = self._parts.get((field, part))
        if pieces is None:
            pieces = self._parts[field, part] = []
        pieces.append(piece)
        if self.kind == REASONING:
            answer.add_reasoning(piece)
            return
        self.was_refused = self.was_refused or field == "refusal"
        answer.add_text(piece, is_commentary=self._is_commentary)

    def settle_text(self, field: str, part: int, whole: str, answer: AnswerBuilder) -> None:
        """Add what the pieces of a part lack of its whole text. What was added already is not taken back."""
        said = "".join(self._parts.get((field, part), ()))
        if len(whole) > len(said) and whole.startswith(said):
            self.take_text(field, part, whole[len(said) :], answer)

    def take_arguments(self, piece: str, answer: AnswerBuilder) -> None:
        """Add a piece of a call's arguments."""
        self._arguments.append(piece)
        answer.add_call(self._number, None, None, piece)

    def settle_arguments(self, whole: object, answer: AnswerBuilder) -> None:
        """Add what the pieces lack of the whole arguments. Where they differ, the whole ones count."""
        said = "".join(self._arguments)
        if isinstance(whole, Mapping):
            whole = orjson.dumps(whole).decode()
        if not isinstance(whole, str) or not whole or whole == said:
            return
        self._arguments = [whole]
        if whole.startswith(said):
            answer.add_call(self._number, None, None, whole[len(said) :])
            return
        arguments, problem = parse_arguments(whole, complete=True)
        if not problem:
            answer.add_call(self._number, None, None, arguments)

    def close(self, whole: Mapping[str, Any], answer: AnswerBuilder) -> None:
        """Add what only the whole item says. A second time, only what is sent back later is replaced."""
        self.raw = whole
        if self.is_closed:
            return
        self.is_closed = True
        self._is_commentary = whole.get("phase", _COMMENTARY if self._is_commentary else None) == _COMMENTARY
        match self.kind:
            case "message":
                self._close_message(whole, answer)
            case "reasoning":
                for field in ("summary", "content"):
                    for at, part in enumerate(objects(whole.get(field))):
                        self.settle_text(field, at, _string(part, "text"), answer)
            case "function_call":
                answer.add_call(self._number, _string(whole, "call_id"), _string(whole, "name"), None)
                self.settle_arguments(whole.get("arguments"), answer)
            case kind if kind.endswith(("_call", "_output")):
                _add_server_tool(kind, whole, answer)

    def replay(self) -> JSONObject | None:
        """Return the item as it is kept for replay, or None for one that cannot be encoded again."""
        raw: dict[str, Any] = dict(self.raw)
        if self.kind == CALL:
            raw["name"] = _string(raw, "name") or NAMELESS
            raw["arguments"] = _as_object(raw.get("arguments") or "".join(self._arguments))
        elif self.kind == MESSAGE and not raw.get("content"):  # no event carried it whole
            raw["content"] = [
                {"type": "output_text", "text": "".join(pieces), "annotations": []}
                for (field, _), pieces in self._parts.items()
                if field == "text"
            ]
            raw.setdefault("role", "assistant")
        try:
            orjson.dumps(raw)
        except TypeError:  # nested too deeply
            return None
        return raw if self.kind else None

    def _close_message(self, whole: Mapping[str, Any], answer: AnswerBuilder) -> None:
        for at, part in enumerate(objects(whole.get("content"))):
            for field in _TEXTS:
                self.settle_text(field, at, _string(part, field), answer)
            for source in objects(part.get("annotations")):
                answer.add_block(_citation(source, _string(part, "text")))


def objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    entries: Sequence[object] = value if isinstance(value, list) else ()
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _add_server_tool(kind: str, item: Mapping[str, Any], answer: AnswerBuilder) -> None:
    """Add a call that the server answered itself, and its result where it tells one."""
    call_id, name = _string(item, "id"), kind.removesuffix("_call").removesuffix("_output")
    shown = "\n".join(line for line in _lines(item) if line)[:_MAX_SHOWN]
    error = item.get("error")
    failed = bool(error) or item.get("status") == "failed"
    if kind.endswith("_call"):
        answer.add_block(ServerToolCall(call_id, _string(item, "name") or name, _arguments_of(item)))
    if kind.endswith("_output") or shown or failed:
        said = str(error)[:_MAX_SHOWN] if error else shown or ("failed" if failed else "")
        answer.add_block(ServerToolResult(call_id, name, said, failed=failed))


def _arguments_of(item: Mapping[str, Any]) -> JSONObject:
    """Return what a server's tool was asked: the action of a search, the queries, the code, or the arguments."""
    action, arguments = item.get("action"), item.get("arguments")
    if isinstance(action, Mapping):
        return {key: value for key, value in action.items() if key != "sources"}
    if isinstance(arguments, Mapping):
        return arguments
    if isinstance(arguments, str):
        return parse_arguments(arguments, complete=True)[0]
    return {key: item[key] for key in ("queries", "code") if item.get(key)}


def _lines(item: Mapping[str, Any]) -> list[str]:
    """Return what a server's tool found, in lines."""
    action, output = item.get("action"), item.get("output")
    found = objects(action.get("sources")) if isinstance(action, Mapping) else []
    found += [*objects(item.get("results")), *objects(item.get("outputs")), *objects(item.get("tools"))]
    words = ("title", "filename", "name", "url", "text", "logs")
    lines = [" ".join(_string(entry, word) for word in words if _string(entry, word)) for entry in found]
    return [output, *lines] if isinstance(output, str) else lines


def _citation(raw: Mapping[str, Any], text: str) -> Citation:
    """Return a source. The words that it stands behind are those between its start and its end."""
    start, end = raw.get("start_index"), raw.get("end_index")
    is_span = type(start) is int and type(end) is int and 0 <= start < end <= len(text)
    title = _string(raw, "title") or _string(raw, "filename")
    return Citation(text[start:end] if is_span else "", _string(raw, "url"), title)


def _as_object(arguments: object) -> str:
    """Return arguments as the text of a JSON object, whatever the model wrote."""
    if isinstance(arguments, Mapping):
        return orjson.dumps(arguments).decode()
    written = arguments if isinstance(arguments, str) else ""
    try:
        if isinstance(orjson.loads(written), dict):
            return written
    except orjson.JSONDecodeError:
        pass
    return orjson.dumps(parse_arguments(written, complete=False)[0]).decode()


def _string(source: Mapping[str, Any], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""
