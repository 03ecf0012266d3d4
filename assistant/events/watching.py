"""Lets somebody watch all assistants of a process: what they hear, think and say, and what their models are asked.

Nobody watching costs a run one attribute read where it could be watched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.llm.response import StreamEvent

_log = Logger()


class Watcher(Protocol):
    """A listener for all assistants of a process; `me` is the id of one. Its methods must not wait."""

    def heard(self, me: str, event: Event, attention: Attention) -> None:
        """Take note of an event that was taken in."""
        ...

    def thinking(self, me: str, run_id: str, step: int) -> None:
        """Take note that the model is about to be asked."""
        ...

    def begins(self, me: str, run_id: str, step: int) -> None:
        """Take note that an answer begins. What came of this step before is void."""
        ...

    def delta(self, me: str, run_id: str, step: int, piece: StreamEvent) -> None:
        """Take note of a piece of the answer."""
        ...

    def step(self, me: str, trace: StepTrace) -> None:
        """Take note that a step is over."""
        ...

    def run_ended(self, me: str, run_id: str, outcome: Outcome) -> None:
        """Take note that the run is over."""
        ...


class WordsKeeper(Protocol):
    """Something in memory that holds words of players."""

    def forget(self, me: str) -> None:
        """Drop all words that came by way of this assistant."""
        ...


class RequestKeeper(WordsKeeper, Protocol):
    """A keeper of the requests to models."""

    def asked(self, me: str, run_id: str, step: int, url: str, body: bytes) -> None:
        """Keep the body of a request that is sent now. Must not copy it. The step is the one the journal counts."""
        ...


class Watchers:
    """Those who watch all assistants of one process. What a watcher raises is logged and harms no run."""

    def __init__(self) -> None:
        #: Whether anybody watches.
        self.is_watched = False
        #: Keeps each request to a model; None when nobody does.
        self.requests: RequestKeeper | None = None
        self._watching: tuple[Watcher, ...] = ()
        self._keepers: tuple[WordsKeeper, ...] = ()

    def __len__(self) -> int:
        """Return how many watch."""
        return len(self._watching)

    def add(self, watcher: Watcher) -> None:
        """Add a watcher. No effect when it was added already."""
        if watcher not in self._watching:
            self._watching += (watcher,)
        self.is_watched = True

    def remove(self, watcher: Watcher) -> None:
        """Remove a watcher. No effect when it was not added."""
        self._watching = tuple(one for one in self._watching if one is not watcher)
        self.is_watched = bool(self._watching)

    def tell_keeper(self, keeper: WordsKeeper) -> None:
        """Tell this keeper from now on when words are to be forgotten."""
        if keeper not in self._keepers:
            self._keepers += (keeper,)

    def keep_requests(self, keeper: RequestKeeper) -> None:
        """Let this keeper have each request from now on."""
        self.requests = keeper
        self.tell_keeper(keeper)

    def keep_no_requests(self, keeper: RequestKeeper) -> None:
        """Let this keeper have no more requests. No effect when another has them by now."""
        if self.requests is keeper:
            self.requests = None

    def forget(self, me: str) -> None:
        """Let every keeper drop the words that came by way of this assistant: a player is forgotten."""
        for keeper in self._keepers:
            keeper.forget(me)

    def remove_keeper(self, keeper: WordsKeeper) -> None:
        """Tell this keeper nothing more. No effect when it was not told."""
        self._keepers = tuple(one for one in self._keepers if one is not keeper)

    def heard(self, me: str, event: Event, attention: Attention) -> None:
        """Report an event that was taken in."""
        self._tell(lambda watcher: watcher.heard(me, event, attention))

    def thinking(self, me: str, run_id: str, step: int) -> None:
        """Report that the model is about to be asked."""
        self._tell(lambda watcher: watcher.thinking(me, run_id, step))

    def begins(self, me: str, run_id: str, step: int) -> None:
        """Report that an answer begins."""
        self._tell(lambda watcher: watcher.begins(me, run_id, step))

    def delta(self, me: str, run_id: str, step: int, piece: StreamEvent) -> None:
        """Report a piece of the answer."""
        self._tell(lambda watcher: watcher.delta(me, run_id, step, piece))

    def step(self, me: str, trace: StepTrace) -> None:
        """Report that a step is over."""
        self._tell(lambda watcher: watcher.step(me, trace))

    def run_ended(self, me: str, run_id: str, outcome: Outcome) -> None:
        """Report that the run is over."""
        self._tell(lambda watcher: watcher.run_ended(me, run_id, outcome))

    def _tell(self, tell: Callable[[Watcher], None]) -> None:
        for watcher in self._watching:
            try:
                tell(watcher)
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001  (a bug of a watcher must not end the run it watches)
                _log.failure("a watcher of the assistants failed")
