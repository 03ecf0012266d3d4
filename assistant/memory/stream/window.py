"""Divides the model's context window between the unchanging front, the stream, and the answer.

The stream gets what the others leave. When that is too little, the examples in the front go first, then the tools that
an assistant can do without. What a server says about its window overrides the settings and the estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct
from twisted.logger import Logger

from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.llm import ContextOverflow, Message, ModelChain

#: The tokens that the stream always has, however small the window is.
MIN_STREAM_TOKENS = 256
#: When the stream would have fewer tokens than this, a smaller front is used.
ENOUGH_TOKENS = 768
#: How often one run may cut its prompt because the server found it too long.
MOST_CUTS = 12
#: What the owner is told when nothing is left to cut.
TOO_SMALL = (
    "the model's window is too small: the persona, the rules and the tools take about {fixed} tokens, and {window}; "
    "raise context_tokens where the model allows it, shorten the persona, or grant fewer tools"
)

_log = Logger()


class Front(Struct, frozen=True):
    """The messages before the stream, and the size in bytes of a request with nothing else in it: mostly tools.

    `tools` holds the names of the tools that the model is offered.
    """

    messages: Sequence[Message]
    request_bytes: int
    tools: frozenset[str] = frozenset()


class Answering(Protocol):
    """The part of a run that matters for fitting its prompt."""

    #: How often the prompt was cut because the server found it too long.
    cuts: int

    @property
    def lines_to_answer(self) -> Sequence[str]:
        """The lines that it is to answer, the most important last."""
        ...

    @property
    def ids_to_answer(self) -> Collection[str]:
        """The ids of the events that the lines of `lines_to_answer` tell of."""
        ...


class Window:
    """The context window of one assistant. `fronts` are the usual front and its fallbacks, in falling order of size.

    `window_tokens` and `answer_tokens` are those of the model with the least room.
    """

    __slots__ = ("_answer_tokens", "_client", "_history", "_smaller", "_window_tokens", "front")

    def __init__(
        self, fronts: Sequence[Front], client: ModelChain, history: History, window_tokens: int, answer_tokens: int
    ) -> None:
        self.front, *self._smaller = fronts
        self._client = client
        self._history = history
        self._window_tokens = window_tokens
        self._answer_tokens = answer_tokens
        while (room := self._room(window_tokens)) < ENOUGH_TOKENS and self._takes_less():
            pass
        history.budget = max(MIN_STREAM_TOKENS, room)
        if room < MIN_STREAM_TOKENS:
            _log.warn("{why}", why=self.too_small())

    def fixed_tokens(self) -> int:
        """Estimate the tokens of a request without its stream, whose tokens are counted as it grows."""
        return self._client.provider.tokens.of_bytes(self.front.request_bytes)

    def fit(self, run: Answering) -> None:
        """Make the stream fit its share. The lines that the run is to answer are cut last."""
        self._history.trim()
        if self._history.tokens > self._history.budget:
            self._history.squeeze(run.lines_to_answer, run.ids_to_answer)

    def shrink(self, overflow: ContextOverflow, run: Answering) -> bool:
        """Give the stream less room after the server found the prompt too long. Return False when no cut is left."""
        run.cuts += 1
        history = self._history
        before, front = history.tokens, self.front
        room = before // 2 if overflow.limit is None else self._room(overflow.limit)
        room = min(room, before * 2 // 3)  # always less: the estimate may be wrong for this text
        if room < ENOUGH_TOKENS:
            self._takes_less()
        budget, history.budget = history.budget, max(MIN_STREAM_TOKENS, min(history.budget, room))
        self.fit(run)
        has_cut = history.tokens < before or history.budget < budget or self.front is not front
        return has_cut and run.cuts <= MOST_CUTS

    def too_small(self, limit: int | None = None) -> str:
        """Return the sentence for the owner that says that even the smallest prompt does not fit."""
        window = f"the model takes {limit} in all" if limit else f"the window is {self._window_tokens}"
        answer = f"{window}, {self._answer_tokens} of them for the answer"
        return TOO_SMALL.format(fixed=self.fixed_tokens(), window=answer)

    def _takes_less(self) -> bool:
        """Switch to the next smaller front. Return False when there is none."""
        while self._smaller:
            smaller = self._smaller.pop(0)
            if smaller.request_bytes < self.front.request_bytes:
                self.front = smaller
                return True
        return False

    def _room(self, window_tokens: int) -> int:
        return window_tokens - self.fixed_tokens() - self._answer_tokens
