"""One child process that writes JSON lines: its start, the answer it is started for, and its certain end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.error import ProcessDone, ProcessTerminated
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.progress import FetchProgress
from mud_assistant.llm.messages import JSONObject
from mud_assistant.resilience.child import ChildProcess, with_our_packages

#: How many bytes one line may have. A longer one is dropped.
MAX_LINE_BYTES = 64 * 1024
#: Seconds between asking a child to end and killing it.
GRACE_SECONDS = 3.0
#: Seconds that the pipes of an ended child may stay open when a process of its own holds them.
_PIPE_SECONDS = 1.0
_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_KILLED = 9
_STDOUT, _STDERR = 1, 2
#: Seconds without an answer or progress after which a child is given up.
PATIENCE_SECONDS = 120.0


Answer = TypeVar("Answer")


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child, without obvious secrets and with our packages on the path."""
    kept = {name: value for name, value in environment.items() if not name.upper().endswith(_SECRET_ENDINGS)}
    return with_our_packages(kept)


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


class Child(ChildProcess):
    """A child process. `on_record` gets each JSON object it writes; `on_end` is called once, when it is gone."""

    def __init__(self, clock: IReactorTime, on_record: Callable[[JSONObject], None]) -> None:
        super().__init__()
        self.on_record = on_record
        self.on_end: Callable[[], None] = _nothing
        self.ended = False
        self.how = ""
        self._clock = clock
        self._line = b""
        self._dropping = False
        self._waiting: list[Deferred[None]] = []
        self._deadline: IDelayedCall | None = None
        self._stopping = False

    def stop(self) -> Deferred[None]:
        """End the child: close its stdin and send SIGTERM, and kill it after 3 s. Fires when the child is gone."""
        if self.ended:
            return succeed(None)
        gone: Deferred[None] = Deferred()
        self._waiting.append(gone)
        if not self._stopping:
            self._stopping = True
            self.close_stdin()
            self.signal("TERM")
            if not self.how:
                self._limit(GRACE_SECONDS, lambda: self.signal("KILL"))
        return gone

    def last_words(self) -> str:
        """Return the most telling line of stderr: the library's first error, else the last line, empty without one."""
        lines = self.last_lines()
        errors = [line.partition(" E ")[2].strip() for line in lines if " E " in line]
        return (errors or lines[-1:] or [""])[0]

    def outReceived(self, data: bytes) -> None:
        """Pass on whole lines that are JSON objects. Ignore anything else on stdout."""
        first, *rest = data.split(b"\n")
        self._gather(first)
        for piece in rest:
            self._finish_line()
            self._gather(piece)

    def processExited(self, reason: Failure) -> None:
        """Note how the child ended. Its last output may still be in the pipes."""
        self.how = _told(reason)
        self._limit(_PIPE_SECONDS, self._close_pipes)

    def processEnded(self, reason: Failure) -> None:
        """Report the end: the child is gone and all its output was read."""
        self.how = _told(reason)
        self.ended = True
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._finish_line()
        waiting, self._waiting = self._waiting, []
        self.on_end()
        for gone in waiting:
            if not gone.called:
                gone.callback(None)

    def _gather(self, piece: bytes) -> None:
        if len(self._line) + len(piece) > MAX_LINE_BYTES:
            self._line, self._dropping = b"", True
        elif not self._dropping:
            self._line += piece

    def _finish_line(self) -> None:
        line, self._line, self._dropping = self._line, b"", False
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(record, dict):
            self.on_record(record)

    def _limit(self, seconds: float, act: Callable[[], None]) -> None:
        """Set the one deadline: the kill or, after it, the closing of the pipes."""
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = self._clock.callLater(seconds, act)

    def _close_pipes(self) -> None:
        if self.transport is not None:
            for number in (_STDOUT, _STDERR):
                self.transport.closeChildFD(number)


def ending(child: Child) -> str:
    """Say how a child ended and what it wrote last, as the end of a sentence that starts with its name."""
    words = child.last_words()
    return f"{child.how}: {words}" if words else child.how


def _nothing() -> None:
    """Do nothing, when there is no listener for the child's end."""


def _told(reason: Failure) -> str:
    """Say how a process ended, as the end of a sentence that starts with its name."""
    error = reason.value
    if isinstance(error, ProcessTerminated) and error.signal:
        hint = ", perhaps for want of memory" if error.signal == _KILLED and sys.platform != "win32" else ""
        return f"was ended by signal {error.signal}{hint}"
    if isinstance(error, ProcessDone | ProcessTerminated):
        return f"ended with status {error.exitCode or 0}"
    return "ended"
