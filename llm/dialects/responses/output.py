"""The items of an answer, each with the events that open it, add to it and close it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from mud_assistant.llm.dialects.responses.offered import CUSTOM_ARGUMENT
from mud_assistant.llm.loose_json.repair import holds_nothing, parse_arguments
from mud_assistant.llm.messages import JSON, Citation

#: An event of a stream without its number; `type` comes first.
Event = dict[str, JSON]


class RenderedItem(ABC):
    """An item whose pieces are still arriving. `index` is its place in the answer."""

    #: What its ids begin with.
    prefix = ""

    def __init__(self, answer_id: str, index: int) -> None:
        self.id = f"{self.prefix}_{answer_id}{index:02d}"
        self.pieces: list[str] = []
        self.status = "in_progress"
        self._place: Event = {"item_id": self.id, "output_index": index}
        self._index = index

    @property
    def joined(self) -> str:
        """Its pieces so far."""
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether no piece can follow once another item began."""
        return True

    @abstractmethod
    def value(self) -> dict[str, JSON]:
        """Return the item as it is now."""

    def opening(self) -> list[Event]:
        """Return the events before its first piece."""
        return [{"type": "response.output_item.added", "output_index": self._index, "item": self.value()}]

    @abstractmethod
    def growing(self, piece: str) -> list[Event]:
        """Return the events of one piece."""

    def closing(self) -> list[Event]:
        """Return the events after its last piece."""
        return [{"type": "response.output_item.done", "output_index": self._index, "item": self.value()}]


class MessageItem(RenderedItem):
    """Text for the user."""

    prefix = "msg"

    def __init__(self, answer_id: str, index: int) -> None:
        super().__init__(answer_id, index)
        self._annotations: list[JSON] = []
        self._start = self._end = 0
        self._place["content_index"] = 0

    def value(self) -> dict[str, JSON]:
        """Return the item as it is now."""
        content = [self._part(self.joined)] if self.pieces else []
        return {"id": self.id, "type": "message", "status": self.status, "role": "assistant", "content": content}

    def opening(self) -> list[Event]:
        """Return the events before its first piece."""
        return [
            *super().opening(),
            {"type": "response.content_part.added", **self._place, "part": self._part("")},
        ]

    def growing(self, piece: str) -> list[Event]:
        """Return the event of one piece."""
        return [{"type": "response.output_text.delta", **self._place, "delta": piece, "logprobs": []}]

    def closing(self) -> list[Event]:
        """Return the events after its last piece."""
        return [
            {"type": "response.output_text.done", **self._place, "text": self.joined, "logprobs": []},
            {"type": "response.content_part.done", **self._place, "part": self._part(self.joined)},
            *super().closing(),
        ]

    def cite(self, citation: Citation) -> list[Event]:
        """Add the source of the text since the one before, or of the same text, and return its event."""
        if not citation.url:
            return []
        if (length := len(self.joined)) > self._end:
            self._start, self._end = self._end, length
        note: dict[str, JSON] = {
            "type": "url_citation",
            "url": citation.url,
            "title": citation.title,
            "start_index": self._start,
            "end_index": self._end,
        }
        self._annotations.append(note)
        number = len(self._annotations) - 1
        name = "response.output_text.annotation.added"
        return [{"type": name, **self._place, "annotation_index": number, "annotation": note}]

    def _part(self, text: str) -> JSON:
        return {"type": "output_text", "text": text, "annotations": list(self._annotations), "logprobs": []}


class ReasoningItem(RenderedItem):
    """What the model thought, told as a summary."""

    prefix = "rs"

    def __init__(self, answer_id: str, index: int) -> None:
        super().__init__(answer_id, index)
        self.is_sealed = False
        self._place["summary_index"] = 0

    def value(self) -> dict[str, JSON]:
        """Return the item as it is now."""
        summary = [self._part(self.joined)] if self.pieces else []
        return {"id": self.id, "type": "reasoning", "summary": summary, "encrypted_content": None}

    def opening(self) -> list[Event]:
        """Return the events before its first piece."""
        return [
            *super().opening(),
            {"type": "response.reasoning_summary_part.added", **self._place, "part": self._part("")},
        ]

    def growing(self, piece: str) -> list[Event]:
        """Return the event of one piece."""
        return [{"type": "response.reasoning_summary_text.delta", **self._place, "delta": piece}]

    def closing(self) -> list[Event]:
        """Return the events after its last piece."""
        return [
            {"type": "response.reasoning_summary_text.done", **self._place, "text": self.joined},
            {"type": "response.reasoning_summary_part.done", **self._place, "part": self._part(self.joined)},
            *super().closing(),
        ]

    def _part(self, text: str) -> JSON:
        return {"type": "summary_text", "text": text}


class CallItem(RenderedItem):
    """A call of a function. With a namespace, `name` is the name within it."""

    prefix = "fc"

    def __init__(self, answer_id: str, index: int, call_id: str, name: str, namespace: str = "") -> None:
        super().__init__(answer_id, index)
        self._call_id = call_id
        self._name = name
        self._space: Mapping[str, JSON] = {"namespace": namespace} if namespace else {}

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are complete. Empty ones may be a beginning that is said anew."""
        said = self.joined
        return not holds_nothing(said) and not parse_arguments(said, complete=False)[1]

    def value(self) -> dict[str, JSON]:
        """Return the item as it is now."""
        return {
            "id": self.id,
            "type": "function_call",
            "call_id": self._call_id,
            "name": self._name,
            **self._space,
            "arguments": self.joined,
            "status": self.status,
        }

    def growing(self, piece: str) -> list[Event]:
        """Return the event of one piece."""
        return [{"type": "response.function_call_arguments.delta", **self._place, "delta": piece}]

    def closing(self) -> list[Event]:
        """Return the events after its last piece."""
        name = {"name": self._name}
        done: Event = {"type": "response.function_call_arguments.done", **self._place, **name}
        return [{**done, "arguments": self.joined}, *super().closing()]


class CustomCallItem(CallItem):
    """A call of a tool whose input is free text. It is told when it is whole, for the pieces are JSON."""

    prefix = "ctc"

    def value(self) -> dict[str, JSON]:
        """Return the item as it is now."""
        return {
            "id": self.id,
            "type": "custom_tool_call",
            "call_id": self._call_id,
            "name": self._name,
            "input": "" if self.status == "in_progress" else self._input(),
            "status": self.status,
        }

    def growing(self, piece: str) -> list[Event]:
        """Return nothing."""
        return []

    def closing(self) -> list[Event]:
        """Return the whole input, and the events after it."""
        given = self._input()
        return [
            {"type": "response.custom_tool_call_input.delta", **self._place, "delta": given},
            {"type": "response.custom_tool_call_input.done", **self._place, "input": given},
            *RenderedItem.closing(self),
        ]

    def _input(self) -> str:
        """Return the text within the arguments, or the arguments themselves where a model sent the text bare."""
        parsed, problem = parse_arguments(self.joined, complete=True)
        given = parsed.get(CUSTOM_ARGUMENT)
        return given if isinstance(given, str) and not problem else self.joined
