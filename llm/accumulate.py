"""Stream events into one message: each fragment goes to the call it belongs to, never to "the latest one".

The rules are the edge cases 1 to 13 of reference/llm-wire.md section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from llm.json_repair import parse_arguments
from llm.messages import Block, JSONObject, Message, Reasoning, Role, Text, ToolCall
from llm.response import FinishReason, Usage
from llm.stream import CallDelta, FinishSeen, ModelSeen, ReasoningDelta, StreamEvent, TextDelta, UsageSeen
from llm.thinking import split_thinking

#: Bytes of arguments one call may have (edge case 88).
MAX_ARGUMENT_CHARS = 1024 * 1024


@dataclass(slots=True)
class _OpenCall:
    """A call while its pieces arrive."""

    index: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    whole: JSONObject | None = None
    size: int = 0

    @property
    def has_arguments(self) -> bool:
        return self.whole is not None or any(self.pieces)


class Accumulator:
    """Collects one answer. `known` are the tool names offered, used only to join a name that came in two pieces."""

    def __init__(self, known: Collection[str], new_id: Callable[[], str]) -> None:
        self._known = known
        self._new_id = new_id
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_OpenCall] = []
        self.finish: FinishReason | None = None
        self.usage = Usage()
        self.model = ""

    def feed(self, event: StreamEvent) -> None:
        """Take one event."""
        match event:
            case TextDelta(text):
                self._text.append(text)
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case CallDelta():
                self._take_call(event)
            case UsageSeen(usage):
                self.usage = usage
            case FinishSeen(reason):
                self.finish = self.finish or reason
            case ModelSeen(model):
                self.model = self.model or model

    @property
    def text(self) -> str:
        """The text so far, for an error that keeps it apart."""
        return "".join(self._text)

    def message(self) -> tuple[Message, FinishReason]:
        """The finished message and why it finished, in the neutral vocabulary (llm-wire 1.7)."""
        finish = self.finish or FinishReason.STOP
        complete = finish not in {FinishReason.LENGTH, FinishReason.FILTERED}
        reasoning, text = split_thinking("".join(self._text))
        reasoning = "".join(self._reasoning) + reasoning
        blocks: list[Block] = []
        if reasoning:
            blocks.append(Reasoning(reasoning))
        if text.strip():
            blocks.append(Text(text))
        blocks.extend(self._finished_calls(complete=complete))
        if self._calls and complete:
            finish = FinishReason.TOOL_CALLS
        elif finish is FinishReason.TOOL_CALLS:
            finish = FinishReason.STOP
        return Message(Role.ASSISTANT, tuple(blocks)), finish

    def _take_call(self, piece: CallDelta) -> None:
        call = self._slot(piece)
        if piece.name and piece.name != call.name and not call.has_arguments and call.name + piece.name in self._known:
            call.name += piece.name
        elif piece.name and not call.name:
            call.name = piece.name
        if isinstance(piece.arguments, str):
            call.size += len(piece.arguments)
            if call.size <= MAX_ARGUMENT_CHARS:
                call.pieces.append(piece.arguments)
        elif piece.arguments is not None and not call.has_arguments:
            call.whole = piece.arguments

    def _slot(self, piece: CallDelta) -> _OpenCall:
        """The call this piece belongs to, opened when there is none."""
        found = self._by_id(piece) if piece.index is None else self._by_index(piece)
        if found is None or (isinstance(piece.arguments, Mapping) and found.whole is not None):
            found = _OpenCall(piece.index, piece.id or "", "")
            self._calls.append(found)
        if piece.id and not found.id:
            found.id = piece.id
        return found

    def _by_index(self, piece: CallDelta) -> _OpenCall | None:
        """Same index, and not a new call that repeats the index under another id (edge case 4)."""
        for call in reversed(self._calls):
            if call.index == piece.index:
                is_new = piece.id and call.id and piece.id != call.id and piece.name
                return None if is_new else call
        return None

    def _by_id(self, piece: CallDelta) -> _OpenCall | None:
        """No index: by id, else the last open call unless the piece starts a new one (edge cases 5 and 6)."""
        if piece.id:
            return next((call for call in self._calls if call.id == piece.id), None)
        if not self._calls or (piece.name and not self._continues_name(piece.name)):
            return None
        return self._calls[-1]

    def _continues_name(self, name: str) -> bool:
        last = self._calls[-1]
        return not last.has_arguments and last.name + name in self._known

    def _finished_calls(self, *, complete: bool) -> list[ToolCall]:
        taken: set[str] = set()
        calls = []
        for call in self._calls:
            call_id = call.id if call.id and call.id not in taken else self._new_id()
            taken.add(call_id)
            calls.append(_finish_call(call, call_id, complete=complete))
        return calls


def _finish_call(call: _OpenCall, call_id: str, *, complete: bool) -> ToolCall:
    if call.size > MAX_ARGUMENT_CHARS:
        return ToolCall(call_id, call.name, {}, f"arguments of more than {MAX_ARGUMENT_CHARS} characters")
    raw = call.whole if call.whole is not None else "".join(call.pieces)
    arguments, problem = parse_arguments(raw, complete=complete)
    return ToolCall(call_id, call.name, arguments, problem)
