"""Renders one answer for a client while it arrives, or whole. The order of a stream is kept here for every dialect.

Servers send the pieces of an answer in many orders: two calls in one piece, calls that take turns, a name without an
index. A subclass is told of one clean order: each call begins once, with its id and its whole name, before its
arguments; reasoning that stood in the text between tags is told as reasoning.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection

import orjson

from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.messages import Citation, ServerToolCall, ServerToolResult, ToolCall
from mud_assistant.llm.response import (
    CallDelta,
    LLMResponse,
    ModelSeen,
    ReasoningDelta,
    ServerBlockSeen,
    StreamEvent,
    TextDelta,
    Usage,
    UsageSeen,
)
from mud_assistant.llm.wire.calls import CallPieces, OpenCall
from mud_assistant.llm.wire.thinking import ThinkingSplitter, may_think

#: How the arguments of a call begin when they are a JSON object.
_OBJECT = re.compile(r"\s*\{\s*[\"}]")
#: How many pieces are looked at for that.
_LOOKED_AT = 16


class AnswerRenderer(ABC):
    """The bytes of one answer. Call `begin`, then `feed` with each event, then `finish` or `fail`; or only `whole`.

    `known` are the names of the tools offered, `new_id` makes an id for a call that came without one. With `holds_text`
    set, text is held until `finish`: it may turn out to be a call that the model wrote as text.
    """

    def __init__(self, known: Collection[str], new_id: Callable[[], str]) -> None:
        self.holds_text = False
        #: The provider's count so far, and the name it gives the model.
        self.usage: Usage | None = None
        self.served_by = ""
        #: Whether anything of the answer itself was rendered. It can then not be asked for again.
        self.has_content = False
        self._known = known
        self._new_id = new_id
        self._restart()

    def _restart(self) -> None:
        self._splitter: ThinkingSplitter | None = None
        self._calls = CallPieces(self._known, self._new_id)
        #: How many pieces of each call were rendered, by the order in which the calls began; None for a legacy one.
        self._rendered: list[int] = []
        self._begun: list[OpenCall] = []
        self._ids: set[str] = set()
        self._has_text = False

    def restart(self) -> None:
        """Forget what was heard of an attempt that failed before anything of it was rendered."""
        self._restart()

    # What the gateway calls.

    @abstractmethod
    def begin(self) -> bytes:
        """Return what stands before the answer."""

    @abstractmethod
    def ping(self) -> bytes:
        """Return a sign of life; empty for a dialect without one."""

    @abstractmethod
    def fail(self, failure: Failure) -> bytes:
        """Return what ends a stream that cannot be finished."""

    @abstractmethod
    def whole(self, response: LLMResponse) -> bytes:
        """Return the answer as one JSON document."""

    def passed(self, piece: bytes) -> None:  # noqa: B027  (most need not know)
        """Note a piece of a stream that was handed on as the provider sent it: an error may have to be added to it."""

    def feed(self, event: StreamEvent) -> bytes:
        """Return what one event adds, which may be nothing."""
        rendered = self._render(event)
        self.has_content = self.has_content or bool(rendered)
        return rendered

    def finish(self, response: LLMResponse) -> bytes:
        """Return the rest of the answer, and what stands after it."""
        self.usage = response.usage
        rest = [self._finish_text()]
        if response.from_fallback or (response.has_tool_calls and not self._calls.real()):
            if response.content and not self._has_text:
                rest.append(self._text(response.content))
            rest += [self._finished_call(call.id, call.name, dict(call.arguments)) for call in response.tool_calls]
        else:
            real = self._calls.real()
            made = response.tool_calls if len(response.tool_calls) == len(real) else [None] * len(real)
            rest += [self._rest_of(call, finished) for call, finished in zip(real, made, strict=True)]
            if response.content and not self._has_text:
                rest.append(self._text(response.content))
        rest.append(self._end(response))
        return b"".join(rest)

    # What a dialect renders. Calls are numbered from 0 in the order in which they begin.

    @abstractmethod
    def _text(self, text: str) -> bytes:
        """Render a piece of the text."""

    @abstractmethod
    def _reasoning(self, text: str, signature: str) -> bytes:
        """Render a piece of the reasoning; a signature seals it."""

    @abstractmethod
    def _call(self, number: int, call_id: str, name: str) -> bytes:
        """Render the beginning of a call."""

    @abstractmethod
    def _arguments(self, number: int, piece: str) -> bytes:
        """Render a piece of the arguments of a call that has begun. Calls may take turns."""

    @abstractmethod
    def _block(self, block: ServerToolCall | ServerToolResult | Citation) -> bytes:
        """Render a step of the provider's own tools."""

    @abstractmethod
    def _end(self, response: LLMResponse) -> bytes:
        """Render what stands after the answer, with its usage and why it ended."""

    # The clean order.

    def _render(self, event: StreamEvent) -> bytes:
        match event:
            case TextDelta(text):
                return b"" if self.holds_text else self._split(text)
            case ReasoningDelta(text, signature):
                return self._reasoning(text, signature)
            case CallDelta():
                self._calls.add(event.index, event.id, event.name, event.arguments, is_legacy=event.is_legacy)
                return b"".join(self._news_of_calls())
            case ServerBlockSeen(block):
                return self._block(block)
            case UsageSeen(usage):
                self.usage = usage
            case ModelSeen(model):
                self.served_by = self.served_by or model
        return b""

    def _split(self, text: str) -> bytes:
        """Render text, of which parts between tags are reasoning."""
        if self._splitter is None and not may_think(text):
            return self._said(text)
        splitter = self._splitter = self._splitter or ThinkingSplitter()
        return self._pieces(splitter.feed(text))

    def _pieces(self, pieces: list[tuple[bool, str]]) -> bytes:
        return b"".join([self._reasoning(text, "") if thought else self._said(text) for thought, text in pieces])

    def _said(self, text: str) -> bytes:
        self._has_text = self._has_text or bool(text.strip())
        return self._text(text) if text else b""

    def _finish_text(self) -> bytes:
        return b"" if self._splitter is None else self._pieces(self._splitter.finish())

    def _news_of_calls(self) -> list[bytes]:
        """Render what is new of the calls whose names are certain: a name may come in two pieces.

        It is certain when the arguments of this call have begun, or those of a later one: calls begin in their order.
        """
        calls = [call for call in self._calls.open if not call.is_legacy]
        while calls and not calls[-1].has_arguments:
            calls.pop()
        return [self._rest_of(call) for call in calls if call.name.strip()]

    def _rest_of(self, call: OpenCall, made: ToolCall | None = None) -> bytes:
        """Render all that was not rendered of a call, and can be by now. `made` is the finished call, at the end.

        Arguments that do not begin as a JSON object does are held until the end, when they may have been repaired.
        """
        number = next((at for at, begun in enumerate(self._begun) if begun is call), len(self._begun))
        rendered = b""
        if number == len(self._begun):
            self._begun.append(call)
            self._rendered.append(0)
            rendered = self._call(number, self._own_id(call.id), call.name)
        return rendered + self._more_arguments(number, call, made)

    def _more_arguments(self, number: int, call: OpenCall, made: ToolCall | None) -> bytes:
        done = self._rendered[number]
        if done == 0 and made is not None and not made.problem:
            piece = orjson.dumps(made.arguments).decode()
        elif call.whole is not None:
            piece = "" if done else orjson.dumps(call.whole).decode()
        else:
            if done == 0 and made is None and not _OBJECT.match("".join(call.pieces[:_LOOKED_AT])):
                return b""
            piece = "".join(call.pieces[done:])
        if not piece:
            return b""
        self._rendered[number] = max(1, len(call.pieces))
        return self._arguments(number, piece)

    def _own_id(self, call_id: str) -> str:
        """Return the id of a call, or a new one when it has none or that of another call."""
        own = call_id if call_id and call_id not in self._ids else self._new_id()
        self._ids.add(own)
        return own

    def _finished_call(self, call_id: str, name: str, arguments: dict[str, object]) -> bytes:
        """Render a call that is known only now, at once."""
        number = len(self._begun)
        self._begun.append(OpenCall(None, call_id, name))
        self._rendered.append(0)
        return self._call(number, self._own_id(call_id), name) + self._arguments(
            number, orjson.dumps(arguments).decode()
        )
