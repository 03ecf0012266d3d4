"""Reads one answer of the Responses API, streamed or whole.

A stream's events are known by their `type`, its items by their index in the output, and it is complete with the event
that carries the whole response. There is no `[DONE]`; servers that send one have said everything before.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from mud_assistant.llm.errors import ProtocolError, StreamBroken, Unavailable
from mud_assistant.llm.loose_json.repair import UnreadableJSON, parse_value
from mud_assistant.llm.messages import RawTurn
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.providers.responses.errors import error_in_answer
from mud_assistant.llm.providers.responses.items import CALL, MESSAGE, REASONING, OutputItem, objects
from mud_assistant.llm.response import FinishReason, Usage
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import excerpt
from mud_assistant.llm.wire.lines import ServerSentEvent
from mud_assistant.llm.wire.parser import SSEParser

_INCOMPLETE: Mapping[object, FinishReason] = {"content_filter": FinishReason.FILTERED}
#: The events that carry a piece of a text or its whole: the kind of their item, the field, the name of the part's
#: index, and the name of what they carry.
_TEXTS: Mapping[str, tuple[str, str, str, str]] = {
    "response.output_text.delta": (MESSAGE, "text", "content_index", "delta"),
    "response.output_text.done": (MESSAGE, "text", "content_index", "text"),
    "response.refusal.delta": (MESSAGE, "refusal", "content_index", "delta"),
    "response.refusal.done": (MESSAGE, "refusal", "content_index", "refusal"),
    "response.reasoning_summary_text.delta": (REASONING, "summary", "summary_index", "delta"),
    "response.reasoning_summary_text.done": (REASONING, "summary", "summary_index", "text"),
    "response.reasoning_text.delta": (REASONING, "content", "content_index", "delta"),
    "response.reasoning_text.done": (REASONING, "content", "content_index", "text"),
}


class ResponsesStream(SSEParser):
    """A reader of one answer. `on_reasoning` is called when the model reasoned."""

    def __init__(self, provider: LLMProvider, answer: AnswerBuilder, on_reasoning: Callable[[], None]) -> None:
        super().__init__(answer)
        self._provider = provider
        self._on_reasoning = on_reasoning
        self._items: list[OutputItem] = []
        #: The items of each kind by their index in the output (the latest one counts), and by their ids.
        self._at: dict[tuple[object, object], OutputItem] = {}
        self._by_id: dict[tuple[object, object], OutputItem] = {}

    def whole(self, data: object) -> None:
        """Read an answer in one document. Raises the error it is, or ProtocolError if it is neither."""
        if isinstance(data, Mapping) and isinstance(inner := data.get("response"), Mapping) and "output" not in data:
            data = inner  # wrapped in an event by some gateways
        if not isinstance(data, Mapping):
            raise self._not_an_answer(str(data))
        if data.get("error") or data.get("type") == "error":
            raise error_in_answer(data, self._provider.name, self._provider.model)
        if not isinstance(data.get("output"), list):
            raise self._not_an_answer(str(data))
        self._finish_response(data)

    def _split(self, data: bytes) -> list[bytes] | None:
        """Return the events as they came: a line with the name and one with the data, or data alone."""
        if not data.startswith(b"event: "):
            return super()._split(data)
        if b"\r" in data:
            return None
        records = data[:-2].split(b"\n\n")
        named, lines = data.count(b"\n\nevent: ") + 1, data.count(b"\n")
        return records if named == data.count(b"\ndata: ") == len(records) and lines == 3 * named else None

    def _read(self, records: list[bytes]) -> None:
        for record in records:
            name, said = b"", record
            if record.startswith(b"event: "):
                name, _, said = record.partition(b"\ndata: ")
            try:
                data = orjson.loads(said)
            except orjson.JSONDecodeError:
                data = None
            kind = data.get("type") if type(data) is dict else None
            if type(kind) is str and name != b"event: error":
                self._event(kind, data)
            elif said:
                self._take(ServerSentEvent(name[7:].decode("utf-8", "replace"), said.decode("utf-8", "replace")))
            if self.complete:
                return

    def _take(self, part: ServerSentEvent) -> None:
        data = _loads(part.data)
        if not isinstance(data, Mapping):
            if part.data.strip() != "[DONE]" and (not part.event or part.event.startswith(("response.", "error"))):
                raise self._not_an_answer(part.data)
            return
        if part.event == "error" or part.field == "error":
            raise error_in_answer(data, self._provider.name, self._provider.model)
        kind = data.get("type")
        self._event(kind if isinstance(kind, str) else part.event, data)

    def _event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Read one event. Nothing is read from those of unknown type, nor from those that say only what is done."""
        if kind in _TEXTS:
            self._text(kind, data)
            return
        match kind:
            case "response.function_call_arguments.delta":
                if isinstance(piece := data.get("delta"), str) and piece:
                    self._has_grown = True
                    self._item(data, CALL).take_arguments(piece, self._answer)
            case "response.function_call_arguments.done":
                self._has_grown = True
                self._item(data, CALL).settle_arguments(data.get("arguments"), self._answer)
            case "response.output_item.added" | "response.output_item.done":
                if isinstance(item := data.get("item"), Mapping):
                    self._whole_item(data.get("output_index"), item, is_done=kind.endswith("done"))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                self._finish_response(_mapping(data.get("response")), kind)
            case "response.created" | "response.in_progress" | "response.queued":
                self._name(_mapping(data.get("response")))
            case _ if kind == "error" or (data.get("error") and not kind.startswith("response.")):
                raise error_in_answer(data, self._provider.name, self._provider.model)

    def _text(self, kind: str, data: Mapping[str, Any]) -> None:
        """Read a piece of a text, or the whole of one, which its pieces may lack."""
        item_kind, field, index_name, name = _TEXTS[kind]
        piece, part = data.get(name), data.get(index_name)
        if not isinstance(piece, str) or not piece:
            return
        self._has_grown = True
        item, part = self._item(data, item_kind), part if isinstance(part, int) else 0
        if name == "delta":
            item.take_text(field, part, piece, self._answer)
        else:
            item.settle_text(field, part, piece, self._answer)

    def _item(self, data: Mapping[str, Any], kind: str) -> OutputItem:
        """Return the item that an event belongs to: by its index, else by its id. Without either a new one begins.

        Some servers number every item 0, so an id that is known wins over an index of an item with another id; others
        give an item another id in every event, so an id that is not known says nothing.
        """
        index, item_id = data.get("output_index"), data.get("item_id")
        found = self._at.get((kind, _key(index)))
        if found is None or (item_id and found.id and found.id != item_id):
            found = self._by_id.get((kind, _key(item_id)), found)
        if found is None and not isinstance(index, int):
            found = next((item for item in reversed(self._items) if item.kind == kind), None)
        return found or self._begin(index, {"type": kind, "id": item_id})

    def _whole_item(self, index: object, item: Mapping[str, Any], *, is_done: bool) -> None:
        """Read the start or the end of an item."""
        found = self._known(index, item, is_start=not is_done)
        if found is None:
            found = self._begin(index, item)
        if is_done:
            found.close(item, self._answer)

    def _known(self, index: object, item: Mapping[str, Any], *, is_start: bool) -> OutputItem | None:
        """Return the item that this is the start or the end of, None for a new one.

        Some servers give several items of an answer one id (xAI its reasoning). What comes under the id of an item that
        has ended, or starts while that is open, is another item unless its index is the same.
        """
        kind, item_id = _key(item.get("type")), _key(item.get("id"))
        at, named = self._at.get((kind, _key(index))), self._by_id.get((kind, item_id))
        if at is not None and at.id == item_id:
            named = at
        if named is None:
            is_other = at is not None and (at.is_other_call(item) or (at.is_closed and bool(at.id and item_id)))
            return None if is_other else at
        is_elsewhere = named is not at and isinstance(index, int)
        if is_start:
            is_other = named.is_closed or is_elsewhere or named.is_other_call(item)
        else:
            is_other = named.is_closed and (is_elsewhere or named.is_other_call(item))
        return None if is_other else named

    def _begin(self, index: object, item: Mapping[str, Any]) -> OutputItem:
        found = OutputItem(len(self._items), item)
        self._items.append(found)
        if isinstance(index, int):
            self._at[found.kind, index] = found
        if found.id:
            self._by_id[found.kind, found.id] = found
        if found.kind == REASONING:
            self._on_reasoning()
        self._has_grown = True
        found.open(self._answer)
        return found

    def _finish_response(self, response: Mapping[str, Any], kind: str = "") -> None:
        """Read the whole response, and add what its events lacked. Raises the error of one that failed."""
        self._name(response)
        status = response.get("status")
        if (usage := _usage(response.get("usage"))) is not None:
            self._answer.set_usage(usage)
        if response.get("error") or kind.endswith(".failed") or status == "failed":
            raise error_in_answer(response, self._provider.name, self._provider.model)
        if kind.endswith(".cancelled") or status == "cancelled":
            raise Unavailable("the server cancelled the response", self._provider.name, self._provider.model)
        self._finish_items(objects(response.get("output")))
        for found in self._items:
            found.close(found.raw, self._answer)  # one that no event ended
        self._answer.set_raw(
            RawTurn(self._provider.name, tuple(raw for item in self._items if (raw := item.replay()) is not None))
        )
        self._set_finish(response, kind)
        self.complete = self._has_grown = True

    def _finish_items(self, output: Sequence[Mapping[str, Any]]) -> None:
        """Read the items of the whole response: each is one that the events told, or one that they lack.

        It is known by its id, the first one among several that share it, else by its place.
        """
        by_id: dict[tuple[object, object], deque[OutputItem]] = {}
        for found in self._items:
            by_id.setdefault((found.kind, found.id), deque()).append(found)
        taken: set[OutputItem] = set()
        for index, item in enumerate(output):
            kind = _key(item.get("type"))
            alike = by_id.get((kind, _key(item.get("id")))) or deque()
            while alike and alike[0] in taken:
                alike.popleft()
            at = self._items[index] if index < len(self._items) else None
            places = (alike[0],) if alike else (self._at.get((kind, index)), at)
            known = next((one for one in places if one and one not in taken and one.kind == kind), None)
            known = known or self._begin(index, item)
            taken.add(known)
            known.close(item, self._answer)

    def _set_finish(self, response: Mapping[str, Any], kind: str) -> None:
        if any(item.was_refused for item in self._items):
            self._answer.set_finish(FinishReason.FILTERED)
        elif kind.endswith(".incomplete") or response.get("status") == "incomplete":
            reason = _mapping(response.get("incomplete_details")).get("reason")
            self._answer.set_finish(_INCOMPLETE.get(reason, FinishReason.LENGTH))
        else:
            self._answer.set_finish(FinishReason.STOP)

    def _name(self, response: Mapping[str, Any]) -> None:
        if isinstance(model := response.get("model"), str) and model:
            self._has_grown = True
            self._answer.set_model(model)

    def _finish(self) -> None:
        """Raise StreamBroken when no event carried the whole response."""
        if not self.complete:
            raise StreamBroken("the answer ended before it was done", self._provider.name, self._provider.model)

    def _not_an_answer(self, said: str) -> ProtocolError:
        return ProtocolError(f"not an answer: {excerpt(said.encode())}", self._provider.name, self._provider.model)


def _usage(told: object) -> Usage | None:
    """Return the usage, or None when there is none. A missing value is unknown, not 0."""
    if not isinstance(told, Mapping):
        return None

    def count(source: object, key: str) -> int | None:
        value = _mapping(source).get(key)
        return value if type(value) is int and value >= 0 else None

    into, cost = told.get("input_tokens_details"), told.get("cost")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0
    return Usage(
        count(told, "input_tokens"),
        count(told, "output_tokens"),
        count(into, "cached_tokens"),
        count(told.get("output_tokens_details"), "reasoning_tokens"),
        count(into, "cache_write_tokens"),
        cost=float(cost) if is_cost and cost is not None else None,
    )


def _loads(text: str) -> object:
    """Return the JSON value, with lone surrogates replaced. None for text that is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return parse_value(text, complete=False).value
    except UnreadableJSON:
        return None


def _key(value: object) -> object:
    """Return an index or an id, None for anything else."""
    return value if isinstance(value, int | str) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
