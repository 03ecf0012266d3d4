"""The live events as a stream of server-sent events.

Behind Evennia's Portal the server never learns that a browser has left, so each stream ends by itself after a minute.
The browser then comes back, says which event it had last, and gets those after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from twisted.internet.interfaces import IDelayedCall, IPushProducer
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from mud_assistant.assistant.page.http.call import Handler, PageCall, Reply, StreamReply
from mud_assistant.assistant.page.live import LiveHub, Published, TooManyStreams
from mud_assistant.assistant.page.ports import InvalidInput, Visitor
from mud_assistant.assistant.page.values.common import ProblemDocument
from mud_assistant.assistant.page.values.live import LiveKind

#: How long a stream lasts, and how often a comment shows that it lives, in seconds.
MAX_SECONDS, COMMENTS_EVERY = 60.0, 15.0
#: After how many milliseconds a browser opens a stream again that has ended.
RETRY_MS = 1000
#: When this much waits for a client that is too slow, its stream is closed.
MAX_WAITING = 256 * 1024
#: After how many seconds somebody may ask again who may open no more streams now.
_RETRY_AFTER = 5
#: The most characters of a tab's name.
_MAX_TAB = 64
_PROBLEM = "application/problem+json"

_log = Logger()


class Wanted(Struct, frozen=True):
    """What a stream carries: events of one assistant, or of all for an empty id, and of these kinds.

    Events that concern all assistants are carried in any case. `last_id` is the last event that the browser has.
    """

    assistant: str = ""
    kinds: frozenset[LiveKind] = frozenset(LiveKind)
    last_id: str = ""
    tab: str = ""

    def takes(self, published: Published) -> bool:
        """Tell whether the stream carries this event."""
        event = published.event
        return event.kind in self.kinds and (not self.assistant or event.assistant in {"", self.assistant})


def wanted_in(query: Mapping[str, str]) -> Wanted:
    """Read the query: `assistant`, `kinds` with commas between them, `last` and `tab`. Raises InvalidInput."""
    names = [name.strip() for name in query.get("kinds", "").split(",") if name.strip()]
    known = {kind.value: kind for kind in LiveKind}
    if unknown := [name for name in names if name not in known]:
        raise InvalidInput(f"there is no kind {unknown[0][:40]!r} of live events, but: {', '.join(known)}")
    kinds = frozenset(known[name] for name in names) or frozenset(LiveKind)
    return Wanted(query.get("assistant", ""), kinds, query.get("last", ""), query.get("tab", "")[:_MAX_TAB])


def live_route(hub: LiveHub, max_seconds: float = MAX_SECONDS) -> Handler:
    """Return the handler that answers with a stream; 429 or 503 when no more may be opened now."""

    async def live(call: PageCall) -> Reply | StreamReply:
        wanted = wanted_in(call.query)
        try:
            hub.check(call.visitor, wanted.tab)
        except TooManyStreams as refused:
            return _refusal(refused)
        return StreamReply(lambda request: EventStream(hub, request, call.visitor, wanted, max_seconds).begin())

    return live


def _refusal(refused: TooManyStreams) -> Reply:
    title = "You have too many streams open" if refused.is_own else "Too many streams are open"
    status = 429 if refused.is_own else 503
    problem = ProblemDocument(title=title, status=status, detail=f"Try again in {_RETRY_AFTER} seconds.")
    return Reply(msgspec.json.encode(problem), status, _PROBLEM, (("Retry-After", str(_RETRY_AFTER)),))


@implementer(IPushProducer)
class EventStream:
    """One stream to a browser, for at most `max_seconds`. `request` is that of twisted.web."""

    # Any: a request of twisted.web, or one of its channels.
    def __init__(
        self, hub: LiveHub, request: Any, visitor: Visitor, wanted: Wanted, max_seconds: float = MAX_SECONDS
    ) -> None:
        self.visitor = visitor
        self.tab = wanted.tab
        self._hub = hub
        self._request = request
        self._wanted = wanted
        self._max_seconds = max_seconds
        self._is_over = False
        self._is_paused = False
        #: What waits while the client reads too slowly.
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._ends: IDelayedCall | None = None
        self._comments: LoopingCall | None = None

    def begin(self) -> None:
        """Send the head and what the browser has missed, and then each event."""
        request = self._request
        last_id = (request.getHeader("last-event-id") or self._wanted.last_id)[:_MAX_TAB]
        try:
            first = self._hub.subscribe(self, last_id)
        except TooManyStreams as refused:
            self._refuse(_refusal(refused))
            return
        request.notifyFinish().addBoth(self._gone)
        request.setHeader("Content-Type", "text/event-stream; charset=utf-8")
        request.setHeader("Cache-Control", "no-store")
        request.setHeader("X-Accel-Buffering", "no")
        clock = self._hub.clock
        self._ends = clock.callLater(self._max_seconds, self.end)
        self._comments = LoopingCall(self._comment)
        self._comments.clock = clock
        self._comments.start(COMMENTS_EVERY, now=False).addErrback(_log_failure)
        request.registerProducer(self, True)
        request.write(b"retry: %d\n\n" % RETRY_MS + b"".join(self._bytes_of(first)))

    def send(self, events: Sequence[Published]) -> None:
        """Send what it wants of these events. While the client is too slow, words as they come are left out."""
        if self._is_over:
            return
        if self._is_paused:
            events = [one for one in events if one.event.kind is not LiveKind.DELTA]
        if pieces := self._bytes_of(events):
            self._write(b"".join(pieces))

    def end(self) -> None:
        """End the stream in good order. The browser opens it again after a second."""
        if self._is_over:
            return
        is_stuck = self._is_paused
        self._stop()
        self._request.unregisterProducer()
        if is_stuck:  # an end in good order would wait for the client for ever
            self._abort()
        else:
            self._request.finish()

    def pauseProducing(self) -> None:
        """Wait: the client reads too slowly."""
        self._is_paused = True

    def resumeProducing(self) -> None:
        """Send what has waited."""
        self._is_paused = False
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if waiting and not self._is_over:
            self._request.write(b"".join(waiting))

    def stopProducing(self) -> None:
        """Stop: the connection is gone."""
        self._stop()

    def _bytes_of(self, events: Sequence[Published]) -> list[bytes]:
        role = self.visitor.role
        return [data for one in events if self._wanted.takes(one) and (data := one.bytes_for(role))]

    def _write(self, data: bytes) -> None:
        if not self._is_paused:
            self._request.write(data)
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > MAX_WAITING:
            _log.info("a live stream was closed: its client reads too slowly")
            self._stop()
            self._request.unregisterProducer()
            self._abort()

    def _comment(self) -> None:
        if not self._is_paused:
            self._request.write(b":\n\n")

    def _refuse(self, reply: Reply) -> None:
        self._request.setResponseCode(reply.status)
        self._request.setHeader("Content-Type", reply.content_type)
        for name, value in reply.headers:
            self._request.setHeader(name, value)
        self._request.write(reply.body)
        self._request.finish()

    def _gone(self, _: object) -> None:
        """Note that the request is over, in whatever way. A client that left is no failure."""
        self._stop()

    def _abort(self) -> None:
        transport = getattr(self._request, "transport", None)
        if transport is not None:
            transport.abortConnection()

    def _stop(self) -> None:
        """Hold nothing any more: no timer, no place at the hub."""
        self._is_over = True
        self._waiting.clear()
        self._waiting_bytes = 0
        self._hub.unsubscribe(self)
        if self._ends is not None and self._ends.active():
            self._ends.cancel()
        if self._comments is not None and self._comments.running:
            self._comments.stop()


def _log_failure(failure: Failure) -> None:
    _log.failure("the comments of a live stream failed", failure)
