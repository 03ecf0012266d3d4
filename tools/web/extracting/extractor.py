"""Turns pages into text with one worker process, a queue before it, and a limit on everything.

             extract                ready              begun, done or failed
(no worker) --------> starting --------------> idle <------------------------> at work
     ^                    | ends: all waiting fail   |  idle_seconds: dismissed   | ends, or too late: killed;
     +--------------------+--------------------------+----------------------------+ that page fails, the rest wait on
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorProcess, IReactorTime
from twisted.logger import Logger

from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.extracting.extracted import Extracted, ExtractLimits, Flag
from mud_assistant.tools.web.extracting.process import Worker, worker_command, worker_environment
from mud_assistant.tools.web.fetch.url import MAX_URL_CHARS

_log = Logger()
_MAX_NAMED_CHARS = 80
_MAX_REASON_CHARS = 200
_MAX_TRIES = 2  # of workers that die before they begin a page


@dataclass(eq=False, slots=True)
class _Job:
    """A page that waits for its text."""

    head: JSONObject
    body: bytes
    #: What the page is, for an error's sentence.
    what: str
    done: Deferred[Extracted]
    patience: IDelayedCall | None = None
    begun: bool = False
    tries: int = 0

    def fail(self, kind: ErrorKind, message: str) -> None:
        self._forget()
        if not self.done.called:
            self.done.errback(WebError(kind, one_line(message)))

    def succeed(self, extracted: Extracted) -> None:
        self._forget()
        if not self.done.called:
            self.done.callback(extracted)

    def taken(self) -> None:
        """Stop the timer of waiting."""
        if self.patience is not None and self.patience.active():
            self.patience.cancel()

    def _forget(self) -> None:
        self.taken()
        self.body = b""


@dataclass(slots=True)
class Counts:
    """How many workers were started and killed, and how many pages were read or failed."""

    started: int = 0
    killed: int = 0
    done: int = 0
    failed: int = 0


@dataclass(eq=False, slots=True)
class _Shift:
    """One worker from its start to its end."""

    worker: Worker = field(init=False)
    ready: bool = False
    #: It was killed or dismissed, and gets no more pages.
    leaving: bool = False
    pages: int = 0


class Extractor:
    """Reads pages in a separate process. `processes` and `clock` are both the reactor in a running program.

    The worker's search path is taken from `environment`, by default the program's own; nothing else of it is passed on.
    """

    def __init__(
        self,
        processes: IReactorProcess,
        clock: IReactorTime,
        *,
        limits: ExtractLimits | None = None,
        environment: Mapping[str, str] | None = None,
        command: tuple[str, ...] | None = None,
    ) -> None:
        self.limits = limits or ExtractLimits()
        self.counts = Counts()
        self._processes = processes
        self._clock = clock
        self._environment = worker_environment(os.environ if environment is None else environment)
        self._command = command or worker_command(self.limits, sys.executable)
        self._waiting: deque[_Job] = deque()
        self._current: _Job | None = None
        self._shift: _Shift | None = None
        self._timer: IDelayedCall | None = None
        self._stopped: list[Deferred[None]] | None = None

    def extract(self, body: bytes, content_type: str, charset: str, url: str) -> Deferred[Extracted]:
        """Return the text of a page found at `url`. `charset` is what its server declared, empty for none.

        Fails with WebError. Cancelling gives up the page's place.
        """
        what = _reason(body, content_type, url)
        if self._stopped is not None:
            return fail(WebError(ErrorKind.SERVER, "the page reader has been stopped"))
        if len(body) > self.limits.input_bytes:
            return fail(WebError(ErrorKind.PARSE, f"{what} is larger than {_size(self.limits.input_bytes)}"))
        if len(self._waiting) >= self.limits.most_waiting:
            return fail(WebError(ErrorKind.RATE_LIMITED, "too many pages wait to be read; try again in a minute"))
        done: Deferred[Extracted] = Deferred(lambda _: self._give_up(job))
        head: JSONObject = {"content_type": content_type[:200], "charset": charset[:100], "url": url[:MAX_URL_CHARS]}
        job = _Job(head, body, what, done)
        job.patience = self._clock.callLater(self.limits.wait_seconds, self._lose_patience, job)
        self._waiting.append(job)
        self._go_on()
        return done

    def stop(self) -> Deferred[None]:
        """Stop the worker; fire when it has ended. Pages that wait or are at work fail with CancelledError."""
        self._stopped = self._stopped or []
        for job in [*self._waiting, *([self._current] if self._current else [])]:
            job.done.cancel()
        if self._shift is None:
            return succeed(None)
        gone: Deferred[None] = Deferred()
        self._stopped.append(gone)
        self._shift.leaving = True
        self._shift.worker.signal("KILL")
        return gone

    def _go_on(self) -> None:
        """Give the worker its next page, if there is one and the worker can take it."""
        if self._current is not None or self._stopped is not None:
            return
        shift = self._shift
        if shift is None:
            if self._waiting:
                self._start()
            return
        if not shift.ready or shift.leaving:
            return
        if not self._waiting:
            self._set_timer(self.limits.idle_seconds, self._dismiss)
        elif shift.pages >= self.limits.pages_per_worker:
            self._dismiss()
        else:
            self._send(shift, self._waiting.popleft())

    def _send(self, shift: _Shift, job: _Job) -> None:
        job.taken()
        job.tries += 1
        shift.pages += 1
        self._current = job
        self._set_timer(self.limits.seconds, self._too_late)
        shift.worker.ask(job.head, job.body)

    def _start(self) -> None:
        shift = _Shift()
        shift.worker = Worker(self._hear, lambda: self._note_end(shift), self.limits)
        self._shift = shift
        self.counts.started += 1
        self._set_timer(self.limits.start_seconds, self._kill)
        try:
            shift.worker.spawn(self._processes, self._command, self._environment)
        except OSError as error:
            self._shift = None
            self._set_timer(None)
            self._fail_all(f"{self._command[0]} could not be started ({error.strerror})")

    def _hear(self, head: JSONObject, body: bytes) -> None:
        """Handle a message of the worker's."""
        shift, job, say = self._shift, self._current, head.get("say")
        if shift is None or shift.leaving:
            return
        if not shift.ready:
            if say != "ready":
                return
            shift.ready = True
            self._set_timer(None)
            _log.info("the page reader runs; network refused by: {by}", by=head.get("network"))
        elif job is not None and say == "begun":
            job.begun = True
            return
        elif job is not None:  # "done" or "failed", or anything, from a worker that a page has taken over
            self._current = None
            self._set_timer(None)
            self._answer(job, head, body)
        self._go_on()

    def _answer(self, job: _Job, head: JSONObject, body: bytes) -> None:
        if head.get("say") == "done":
            self.counts.done += 1
            flags = head.get("flags")
            known = frozenset(flag for flag in Flag if isinstance(flags, list) and flag in flags)
            title, refresh = str(head.get("title") or ""), str(head.get("refresh") or "")[:MAX_URL_CHARS]
            job.succeed(Extracted(title, body.decode("utf-8", "replace"), known, refresh))
            return
        self.counts.failed += 1
        reason = str(head.get("message") or "")[:_MAX_REASON_CHARS]
        job.fail(ErrorKind.PARSE, f"{job.what} cannot be read: {reason}")

    def _too_late(self) -> None:
        """Fail the page at work and kill the worker: there is no other way to stop a parser."""
        job, self._current = self._current, None
        self._kill(starting=False)
        if job is not None:
            self.counts.failed += 1
            job.fail(ErrorKind.TIMEOUT, f"{job.what} took longer than {self.limits.seconds:g} s to read")

    def _kill(self, *, starting: bool = True) -> None:
        if self._shift is not None:
            self._shift.leaving = not starting
            self.counts.killed += 1
            self._shift.worker.signal("KILL")

    def _dismiss(self) -> None:
        """Let an idle worker end."""
        if self._shift is not None:
            self._shift.leaving = True
            self._set_timer(self.limits.seconds, self._kill_leaving)
            self._shift.worker.close_stdin()

    def _kill_leaving(self) -> None:
        self._kill(starting=False)

    def _note_end(self, shift: _Shift) -> None:
        """Note that the worker has ended; start another if pages wait."""
        self._shift = None
        self._set_timer(None)
        job, self._current = self._current, None
        if job is not None:
            self._bereave(job)
        if self._stopped is not None:
            for gone in self._stopped:
                gone.callback(None)
            self._stopped.clear()
        elif not shift.ready and not shift.leaving:
            self._fail_all(f"it ended at its start ({shift.worker.last_words()[:_MAX_REASON_CHARS] or 'in silence'})")
        self._go_on()

    def _bereave(self, job: _Job) -> None:
        """Put back a page that its worker did not begin, or fail it. A page is tried at most `_MAX_TRIES` times."""
        if not job.begun and job.tries < _MAX_TRIES and not job.done.called:
            self._waiting.appendleft(job)
            return
        self.counts.failed += 1
        job.fail(ErrorKind.PARSE, f"{job.what} cannot be read: the page reader broke down over it")

    def _fail_all(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, deque()
        for job in waiting:
            job.fail(ErrorKind.SERVER, f"the page reader does not run: {reason}")

    def _give_up(self, job: _Job) -> None:
        """Drop a cancelled page from the queue. One at work goes on: that is cheaper than a new worker."""
        job.taken()
        if job in self._waiting:
            self._waiting.remove(job)

    def _lose_patience(self, job: _Job) -> None:
        self._waiting.remove(job)
        job.fail(ErrorKind.TIMEOUT, f"{job.what} waited {self.limits.wait_seconds:g} s for its turn to be read")

    def _set_timer(self, seconds: float | None, act: object = None) -> None:
        """Replace the one timer, which serves the start, a page at work, and idling."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None if seconds is None or not callable(act) else self._clock.callLater(seconds, act)


def _reason(body: bytes, content_type: str, url: str) -> str:
    """Describe a page for an error: its host, type and size, never its whole address."""
    try:
        host = urlsplit(url).hostname or "an unknown place"
    except ValueError:
        host = "an unknown place"
    kind = content_type.partition(";")[0].strip() or "no type"
    return f"the page at {host[:_MAX_NAMED_CHARS]} ({kind[:_MAX_NAMED_CHARS]}, {_size(len(body))})"


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count // 1000:,} kB"  # noqa: PLR2004  (up to here the exact number is short)
