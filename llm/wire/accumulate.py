"""Collects stream events into one message. Each fragment goes to the call it belongs to, not simply to the latest one.

Servers differ in how they number, name and repeat the pieces of a call; the comments here say which differences are
handled. Blocks keep the order in which they began.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from llm.loose_json.repair import holds_nothing, parse_arguments
from llm.messages import (
    Block,
    Citation,
    JSONObject,
    Message,
    RawTurn,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    ModelSeen,
    RawSeen,
    ReasoningDelta,
    ServerBlockSeen,
    StreamEvent,
    TextDelta,
    Usage,
    UsageSeen,
)
from llm.wire.thinking import Piece, ThinkingSplitter

#: Characters of arguments that one call may have.
MAX_ARGUMENT_CHARS = 1024 * 1024


@dataclass(slots=True)
class OpenCall:
    """A tool call whose pieces are still arriving."""

    index: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    whole: JSONObject | None = None
    size: int = 0
    is_legacy: bool = False

    @property
    def is_phantom(self) -> bool:
        """Whether this is not a real call: some servers send an empty one with every answer."""
        if self.name.strip():
            return False
        return not self.whole and holds_nothing("".join(self.pieces))

    @property
    def has_arguments(self) -> bool:
        """Whether any arguments have arrived."""
        return self.whole is not None or any(self.pieces)


@dataclass(slots=True)
class _Run:
    """Text or reasoning whose pieces are still arriving. Reasoning with a signature takes no more pieces."""

    is_reasoning: bool
    pieces: list[str] = field(default_factory=list)
    signature: str = ""


_Part = _Run | OpenCall | ServerToolCall | ServerToolResult | Citation


class Accumulator:
    """The answer collected so far from one stream.

    `known` are the names of the tools offered. They are used only to join a name that came in two pieces.
    """

    def __init__(self, known: Collection[str], new_id: Callable[[], str]) -> None:
        self._known = known
        self._new_id = new_id
        self._parts: list[_Part] = []
        self._calls: list[OpenCall] = []
        self._raw: RawTurn | None = None
        self.finish: FinishReason | None = None
        self.usage = Usage()
        self.model = ""

    def feed(self, event: StreamEvent) -> None:
        """Take one event."""
        match event:
            case TextDelta(text):
                self._run(is_reasoning=False).pieces.append(text)
            case ReasoningDelta(text, signature):
                run = self._run(is_reasoning=True)
                run.pieces.append(text)
                run.signature = signature
            case CallDelta():
                self._take_call(event)
            case ServerBlockSeen(block):
                self._parts.append(block)
            case RawSeen(raw):
                self._raw = raw
            case UsageSeen(usage):
                self.usage = usage
            case FinishSeen(reason):
                self.finish = self.finish or reason
            case ModelSeen(model):
                self.model = self.model or model

    @property
    def text(self) -> str:
        """The text so far, for an error that keeps the partial text."""
        return "".join("".join(run.pieces) for run in self._text_runs())

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls so far, in the order in which they began. Each grows while its pieces arrive.

        A call with neither a name nor arguments yet may not be a real one, and is left out.
        """
        return tuple(call for call in self._calls if call.name or call.has_arguments)

    def message(self) -> tuple[Message, FinishReason]:
        """Return the finished message and its finish reason, in the vocabulary shared by all providers."""
        finish = self.finish or FinishReason.STOP
        complete = finish not in {FinishReason.LENGTH, FinishReason.FILTERED}
        blocks = _join_texts(self._blocks(complete=complete))
        if self._real_calls() and complete:
            finish = FinishReason.TOOL_CALLS
        elif finish is FinishReason.TOOL_CALLS:
            finish = FinishReason.STOP
        return Message(Role.ASSISTANT, blocks, self._raw), finish

    def _blocks(self, *, complete: bool) -> Iterable[Block]:
        texts = iter(_apart(["".join(run.pieces) for run in self._text_runs()]))
        real = self._real_calls()
        calls = iter(self._finished_calls(real, complete=complete))
        for part in self._parts:
            match part:
                case _Run(is_reasoning=True):
                    yield Reasoning("".join(part.pieces), part.signature)
                case _Run():
                    yield from (Reasoning(text) if thought else Text(text) for thought, text in next(texts))
                case OpenCall():
                    if any(part is call for call in real):
                        yield next(calls)
                case _:
                    yield part

    def _text_runs(self) -> list[_Run]:
        return [part for part in self._parts if isinstance(part, _Run) and not part.is_reasoning]

    def _run(self, *, is_reasoning: bool) -> _Run:
        """Return the run that this piece continues. Begin a new one when something else came in between."""
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Run) and last.is_reasoning == is_reasoning and not last.signature:
            return last
        run = _Run(is_reasoning)
        self._parts.append(run)
        return run

    def _real_calls(self) -> list[OpenCall]:
        """Return the calls without phantoms, and without an old-style call that only repeats a new one."""
        real = [call for call in self._calls if not call.is_phantom]
        is_repeated = any(call.name and not call.is_legacy for call in real)
        return [call for call in real if not (call.is_legacy and is_repeated)]

    def _take_call(self, piece: CallDelta) -> None:
        if not (piece.name or piece.arguments or piece.id):
            return
        call = self._slot(piece)
        if piece.name and piece.name != call.name and not call.has_arguments and call.name + piece.name in self._known:
            call.name += piece.name
        elif piece.name and not call.name.strip():
            call.name = piece.name
        if isinstance(piece.arguments, str):
            call.size += len(piece.arguments)
            if call.size <= MAX_ARGUMENT_CHARS:
                call.pieces.append(piece.arguments)
        elif piece.arguments is not None and not call.has_arguments:
            call.whole = piece.arguments

    def _slot(self, piece: CallDelta) -> OpenCall:
        """Return the call this piece belongs to; begin a new call when there is none."""
        found = self._by_id(piece) if piece.index is None else self._by_index(piece)
        if found is None or (isinstance(piece.arguments, Mapping) and found.whole is not None):
            found = OpenCall(piece.index, piece.id or "", "", is_legacy=piece.is_legacy)
            self._calls.append(found)
            self._parts.append(found)
        if piece.id and not found.id:
            found.id = piece.id
        return found

    def _by_index(self, piece: CallDelta) -> OpenCall | None:
        """Find the call with this index. Return None for a new call that reuses the index under another id."""
        for call in reversed(self._calls):
            if call.index == piece.index and call.is_legacy == piece.is_legacy:
                is_new = piece.id and call.id and piece.id != call.id and piece.name
                return None if is_new else call
        return None

    def _by_id(self, piece: CallDelta) -> OpenCall | None:
        """Find the call of a piece without an index.

        It is the call with the same id. A piece without an id continues the last call, unless it begins a new one.
        """
        if piece.id:
            return next((call for call in self._calls if call.id == piece.id), None)
        new = [call for call in self._calls if not call.is_legacy]
        if not new or (piece.name and not self._continues_name(new[-1], piece.name)):
            return None
        if piece.name:
            return new[-1]
        return next((call for call in reversed(new) if call.name), new[-1])  # an empty call may follow it

    def _continues_name(self, last: OpenCall, name: str) -> bool:
        return not last.has_arguments and (not last.name or last.name + name in self._known)

    def _finished_calls(self, real: Sequence[OpenCall], *, complete: bool) -> list[ToolCall]:
        taken: set[str] = set()
        calls = []
        for call in real:
            call_id = call.id if call.id and call.id not in taken else self._new_id()
            taken.add(call_id)
            calls.append(_finish_call(call, call_id, complete=complete))
        return calls


def _finish_call(call: OpenCall, call_id: str, *, complete: bool) -> ToolCall:
    if call.size > MAX_ARGUMENT_CHARS:
        return ToolCall(call_id, call.name, {}, f"arguments of more than {MAX_ARGUMENT_CHARS} characters")
    raw = call.whole if call.whole is not None else "".join(call.pieces)
    arguments, problem = parse_arguments(raw, complete=complete)
    if not call.name.strip():
        return ToolCall(call_id, "", arguments, problem or "the call does not name a tool")
    return ToolCall(call_id, call.name, arguments, problem)


def _apart(runs: Sequence[str]) -> list[list[Piece]]:
    """Split each run of text into answer and reasoning. A thinking block may span several runs."""
    splitter = ThinkingSplitter()
    placed = [splitter.feed(run) for run in runs]
    if placed:
        placed[-1] += splitter.finish()
    left = len(splitter.taken_back)
    for pieces in placed:
        for number, (is_reasoning, text) in enumerate(pieces):
            if not is_reasoning and left:
                pieces[number] = (True, text)
                left -= len(text)
    return placed


def _join_texts(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Join neighbouring blocks of one kind and drop empty ones. Keep blank text only when there is other text."""
    joined: list[Block] = []
    for block in blocks:
        match block, joined[-1] if joined else None:
            case Text(text), Text(before):
                joined[-1] = Text(before + text)
            case Reasoning(text, ""), Reasoning(before, ""):
                joined[-1] = Reasoning(before + text)
            case (Text(""), _) | (Reasoning("", ""), _):
                pass
            case _:
                joined.append(block)
    spoken = any(isinstance(block, Text) and block.text.strip() for block in joined)
    return tuple(block for block in joined if spoken or not isinstance(block, Text))
