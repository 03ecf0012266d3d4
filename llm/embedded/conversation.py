"""Waits for the one answer that a child process was started for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

from llm.embedded.child import Child
from llm.embedded.errors import EmbeddedUnavailable
from llm.embedded.progress import FetchProgress
from llm.messages import JSONObject

#: Seconds without an answer or progress after which a child is given up.
PATIENCE_SECONDS = 120.0

Answer = TypeVar("Answer")


class Conversation(Generic[Answer]):
    """A wait for one child, until `listen` makes an answer of one of its lines. `who` names the child in sentences."""

    def __init__(self, clock: IReactorTime, who: str, listen: Callable[[JSONObject], Answer | None]) -> None:
        self.child = Child(clock, self._heard)
        self.child.on_end = self._ended
        self._who = who
        self._listen = listen
        self._error = ""
        self._see_stderr = False
        self._latest: FetchProgress | None = None
        self._answer: Deferred[Answer] = Deferred()
        self._patience = clock.callLater(PATIENCE_SECONDS, self._give_up)

    def keep_waiting(self, progress: FetchProgress) -> None:
        """Restart the time limit when this progress is new."""
        if progress != self._latest and self._patience.active():
            self._latest = progress
            self._patience.reset(PATIENCE_SECONDS)

    async def result(self) -> Answer:
        """Await the answer. Raises EmbeddedUnavailable. If that happens, or on cancelling, the child is ended first."""
        try:
            return await self._answer
        except (EmbeddedUnavailable, CancelledError):
            await self.child.stop()
            raise
        finally:
            self.forget()

    def forget(self) -> None:
        """Cancel the time limit."""
        if self._patience.active():
            self._patience.cancel()

    def _heard(self, record: JSONObject) -> None:
        error = record.get("error")
        if isinstance(error, str):
            self._error, self._see_stderr = error, record.get("see_stderr") is True
            return
        answer = self._listen(record)
        if answer is not None and not self._answer.called:
            self._answer.callback(answer)

    def _ended(self) -> None:
        self._fail(f"{self._who} {ending(self.child)}")

    def _give_up(self) -> None:
        self._fail(f"{self._who} said nothing new for {PATIENCE_SECONDS:.0f} seconds")

    def _fail(self, cause: str) -> None:
        """End the wait with an error. An error that the child itself reported is preferred as the cause."""
        if self._answer.called:
            return
        words = self.child.last_words() if self._see_stderr else ""
        known = f"{self._error} ({words})" if words else self._error
        self._answer.errback(EmbeddedUnavailable(known or cause))


def ending(child: Child) -> str:
    """Say how a child ended and what it wrote last, as the end of a sentence that starts with its name."""
    words = child.last_words()
    return f"{child.how}: {words}" if words else child.how
