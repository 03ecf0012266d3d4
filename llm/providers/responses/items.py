"""The items of an answer: assembled from their pieces, added to the answer, kept raw for replay.

What a server runs itself is known by the shape of an item's type, not by a list of names. What a `.done` event or the
whole item says wins over the pieces before it. An item of unknown type is kept as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mud_assistant.llm.loose_json.repair import parse_arguments
from mud_assistant.llm.messages import Citation, JSONObject, ServerToolCall, ServerToolResult
from mud_assistant.llm.providers.provider import NAMELESS
from mud_assistant.llm.wire.building import AnswerBuilder

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
        #: The parts whose whole text an event of their own has told.
        self._settled: set[tuple[str, int]] = set()
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
        said = {at: text for at, text in self._said(field).items() if (field, at) not in self._settled}
        at = pair_parts(said, {part: whole}).get(part)
        self._settle_part(field, part, at, whole, answer)
        self._settled.add((field, part if at is None else at))

    def _settle_all(self, wholes: Sequence[tuple[str, int, str]], answer: AnswerBuilder) -> None:
        """Add what the pieces lack of the texts of a whole item: each with its field and its place."""
        pairs = {
            field: pair_parts(self._said(field), {part: text for of, part, text in wholes if of == field})
            for field in {field for field, _, _ in wholes}
        }
        for field, part, whole in wholes:
            self._settle_part(field, part, pairs[field].get(part), whole, answer)

    def _settle_part(self, field: str, part: int, at: int | None, whole: str, answer: AnswerBuilder) -> None:
        """Add the rest of a text of which the pieces of number `at` are the beginning, all of it without pieces."""
        said = "" if at is None else "".join(self._parts[field, at])
        if len(whole) > len(said) and whole.startswith(said):
            self.take_text(field, part if at is None else at, whole[len(said) :], answer)

    def _said(self, field: str) -> dict[int, str]:
        """Return the text of each part of a field so far, by the number that its pieces gave it."""
        return {at: "".join(pieces) for (of, at), pieces in self._parts.items() if of == field}

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
                parts = [
                    (field, part) for field in ("summary", "content") for part in enumerate(objects(whole.get(field)))
                ]
                self._settle_all([(field, at, _string(part, "text")) for field, (at, part) in parts], answer)
            case "function_call":
                answer.add_call(self._number, _string(whole, "call_id"), _string(whole, "name"), None)
                self.settle_arguments(whole.get("arguments"), answer)
            case kind if kind.endswith(("_call", "_output")):
                _add_server_tool(kind, whole, answer)

    def is_other_call(self, item: Mapping[str, Any]) -> bool:
        """Tell whether this is a call, and another one than `item`."""
        return self.kind == CALL and self.raw.get("call_id") not in (None, item.get("call_id"))

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
        parts = objects(whole.get("content"))
        texts = [(field, at, _string(part, field)) for at, part in enumerate(parts) for field in _TEXTS]
        self._settle_all([text for text in texts if text[2]], answer)
        for part in parts:
            for source in objects(part.get("annotations")):
                answer.add_block(_citation(source, _string(part, "text")))


def pair_parts(said: Mapping[int, str], wholes: Mapping[int, str]) -> dict[int, int]:
    """Return which pieces belong to which whole text: the number of the pieces by the number of the text.

    The two should be the same, but some servers count the parts of a stream through all of its items (vLLM, Bedrock).
    So the text decides first, then the number, then the order.
    """
    pairs = {part: part for part, whole in wholes.items() if said.get(part) == whole}
    free = {at: text for at, text in said.items() if at not in pairs}
    by_text: dict[str, list[int]] = {}
    for at, text in free.items():
        by_text.setdefault(text, []).append(at)
    for part, whole in wholes.items():
        if part not in pairs and (same := by_text.get(whole)):
            pairs[part] = same.pop(0)
            del free[pairs[part]]
    for part, whole in wholes.items():
        if part not in pairs and part in free and _is_beginning(free[part], whole):
            pairs[part] = part
            del free[part]
    left = [part for part in wholes if part not in pairs]
    for part, at in zip(left, sorted(free), strict=False):
        if _is_beginning(free[at], wholes[part]):
            pairs[part] = at
            del free[at]
    pairs.update({part: part for part in left if part not in pairs and part in free})
    return pairs


def _is_beginning(one: str, other: str) -> bool:
    """Tell whether one of the two texts begins with the other."""
    return one.startswith(other) or other.startswith(one)


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
