"""Collects the pieces of an answer into one message. Its blocks keep the order in which they began."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from mud_assistant.llm.messages import (
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
)
from mud_assistant.llm.response import (
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
from mud_assistant.llm.wire.calls import CallPieces, OpenCall
from mud_assistant.llm.wire.thinking import Piece, ThinkingSplitter, may_think


@dataclass(slots=True)
class _Run:
    """Text or reasoning whose pieces are still arriving. Reasoning with a signature takes no more pieces."""

    is_reasoning: bool
    pieces: list[str] = field(default_factory=list)
    signature: str = ""
    is_commentary: bool = False


#: What is known of the use before the provider says anything.
_UNKNOWN = Usage()
_Part = _Run | OpenCall | ServerToolCall | ServerToolResult | Citation


class Accumulator:
    """The answer collected so far from one stream.

    `known` are the names of the tools offered. They are used only to join a name that came in two pieces.
    """

    def __init__(self, known: Collection[str], new_id: Callable[[], str]) -> None:
        self._parts: list[_Part] = []
        #: The pieces of the text that the next piece of text continues, if the last part is text.
        self._said: list[str] | None = None
        self._calls = CallPieces(known, new_id)
        self._raw: RawTurn | None = None
        self.finish: FinishReason | None = None
        self.usage = _UNKNOWN
        self.model = ""

    def feed(self, event: StreamEvent) -> None:
        """Take one event."""
        match event:
            case TextDelta(text, is_commentary):
                self.add_text(text, is_commentary=is_commentary)
            case ReasoningDelta(text, signature):
                self.add_reasoning(text, signature)
            case CallDelta():
                self.add_call(event.index, event.id, event.name, event.arguments, is_legacy=event.is_legacy)
            case ServerBlockSeen(block):
                self.add_block(block)
            case RawSeen(raw):
                self.set_raw(raw)
            case UsageSeen(usage):
                self.set_usage(usage)
            case FinishSeen(reason):
                self.set_finish(reason)
            case ModelSeen(model):
                self.set_model(model)

    def add_text(self, text: str, *, is_commentary: bool = False) -> None:
        """Take a piece of the text, or of what is said on the way to it."""
        said = self._said
        if is_commentary:
            self._add_commentary(text)
            return
        if said is None:
            said = self._said = self._run(is_reasoning=False).pieces
        said.append(text)

    def add_reasoning(self, text: str, signature: str = "") -> None:
        """Take a piece of the reasoning."""
        run = self._run(is_reasoning=True)
        run.pieces.append(text)
        run.signature = signature

    def add_call(
        self,
        index: int | None,
        call_id: str | None,
        name: str | None,
        arguments: str | JSONObject | None,
        *,
        is_legacy: bool = False,
    ) -> None:
        """Take a piece of a tool call."""
        begun = self._calls.add(index, call_id, name, arguments, is_legacy=is_legacy)
        if begun is not None:
            self._begin(begun)

    def add_block(self, block: ServerToolCall | ServerToolResult | Citation) -> None:
        """Take a step of the provider's own tools."""
        self._begin(block)

    def set_raw(self, raw: RawTurn) -> None:
        """Take the turn as the provider sent it. The last one wins."""
        self._raw = raw

    def set_usage(self, usage: Usage) -> None:
        """Take the provider's count so far. The last one wins."""
        self.usage = usage

    def set_finish(self, reason: FinishReason) -> None:
        """Take the reason for stopping. The first one wins."""
        self.finish = self.finish or reason

    def set_model(self, model: str) -> None:
        """Take the name of the model that answers. The first one wins."""
        self.model = self.model or model

    @property
    def text(self) -> str:
        """The text so far, for an error that keeps the partial text."""
        return "".join("".join(run.pieces) for run in self._text_runs())

    @property
    def written_bytes(self) -> int:
        """How many bytes of text were written so far, for an estimate of what a broken answer used."""
        return len(self.text.encode())

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls so far, in the order in which they began, without those that may not be real ones."""
        return self._calls.open

    def message(self) -> tuple[Message, FinishReason]:
        """Return the finished message and its finish reason, in the vocabulary shared by all providers."""
        finish = self.finish or FinishReason.STOP
        complete = finish not in {FinishReason.LENGTH, FinishReason.FILTERED}
        self._settle_commentary()
        real = self._calls.real()
        blocks = self._only_text() or _join_texts(self._blocks(real, complete=complete))
        if real and complete:
            finish = FinishReason.TOOL_CALLS
        elif finish is FinishReason.TOOL_CALLS:
            finish = FinishReason.STOP
        return Message(Role.ASSISTANT, blocks, self._raw), finish

    def _add_commentary(self, text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if not (isinstance(last, _Run) and last.is_commentary):
            last = _Run(is_reasoning=True, is_commentary=True)
            self._begin(last)
        last.pieces.append(text)

    def _settle_commentary(self) -> None:
        """Make the commentary text when there is no other text. Beside an answer it stays with the reasoning."""
        runs = [part for part in self._parts if isinstance(part, _Run)]
        remarks = [run for run in runs if run.is_commentary]
        if not remarks:
            return
        is_beside = any("".join(run.pieces).strip() for run in runs if not (run.is_reasoning or run.is_commentary))
        for run in remarks:
            run.is_reasoning = is_beside

    def _only_text(self) -> tuple[Text, ...]:
        """Return the text of an answer that is nothing else, as most are; empty when there may be more to it."""
        if self._said is None or len(self._parts) > 1:
            return ()
        text = "".join(self._said)
        return () if may_think(text) or not text or text.isspace() else (Text(text),)

    def _blocks(self, real: Sequence[OpenCall], *, complete: bool) -> Iterable[Block]:
        texts = iter(_apart(["".join(run.pieces) for run in self._text_runs()]))
        calls = iter(self._calls.finished(real, complete=complete))
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
        if isinstance(last, _Run) and last.is_reasoning == is_reasoning and not (last.signature or last.is_commentary):
            return last
        run = _Run(is_reasoning)
        self._begin(run)
        return run

    def _begin(self, part: _Part) -> None:
        self._parts.append(part)
        self._said = None


class UsageReader(Accumulator):
    """A reader of an answer that keeps only what it used. Its text is counted and forgotten."""

    def __init__(self) -> None:
        super().__init__((), str)
        self._written = 0

    @property
    def written_bytes(self) -> int:
        """About how many bytes of text were written so far."""
        return self._written

    def add_text(self, text: str, *, is_commentary: bool = False) -> None:
        """Count a piece of the text."""
        self._written += len(text)

    def add_reasoning(self, text: str, signature: str = "") -> None:
        """Count a piece of the reasoning."""
        self._written += len(text)

    def add_call(
        self,
        index: int | None,
        call_id: str | None,
        name: str | None,
        arguments: str | JSONObject | None,
        *,
        is_legacy: bool = False,
    ) -> None:
        """Count a piece of a call."""
        self._written += len(arguments) if isinstance(arguments, str) else 0

    def add_block(self, block: ServerToolCall | ServerToolResult | Citation) -> None:
        """Ignore a step of the provider's own tools."""

    def set_raw(self, raw: RawTurn) -> None:
        """Ignore the provider's own form of the turn."""


def _apart(runs: Sequence[str]) -> list[list[Piece]]:
    """Split each run of text into answer and reasoning. A thinking block may span several runs."""
    if not any(map(may_think, runs)):
        return [[(False, run)] for run in runs]
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
        last = joined[-1] if joined else None
        if isinstance(block, Text):
            if isinstance(last, Text):
                joined[-1] = Text(last.text + block.text)
            elif block.text:
                joined.append(block)
        elif not isinstance(block, Reasoning) or block.signature:
            joined.append(block)
        elif isinstance(last, Reasoning) and not last.signature:
            joined[-1] = Reasoning(last.text + block.text)
        elif block.text:
            joined.append(block)
    spoken = any(isinstance(block, Text) and block.text and not block.text.isspace() for block in joined)
    return tuple(block for block in joined if spoken or not isinstance(block, Text))
