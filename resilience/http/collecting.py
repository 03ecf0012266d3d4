"""Collects the body of a request from a producer, before any of it is sent."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IConsumer
from twisted.python.failure import Failure
from twisted.web.iweb import IBodyProducer
from zope.interface import implementer


@implementer(IConsumer)
class CollectedBody:
    """Collects what a producer writes. `done` fires with all of it, or fails with ValueError when it is too long."""

    def __init__(self, producer: IBodyProducer, max_bytes: int) -> None:
        self._producer = producer
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._bytes = 0
        self.done: Deferred[bytes] = Deferred(lambda _: producer.stopProducing())
        if isinstance(producer.length, int) and producer.length > max_bytes:
            self.done.errback(self._too_long())
        else:
            producer.startProducing(self).addCallbacks(self._finish, self._fail)

    def write(self, data: bytes) -> None:
        """Take a piece."""
        self._bytes += len(data)
        if self._bytes <= self._max_bytes:
            self._pieces.append(data)
        elif not self.done.called:
            self._pieces.clear()
            self.done.errback(self._too_long())
            self._producer.stopProducing()

    def registerProducer(self, producer: Any, streaming: bool) -> None:  # noqa: N802  (Twisted's name)
        """Do nothing: the producer may write as fast as it likes, up to the limit."""

    def unregisterProducer(self) -> None:  # noqa: N802  (Twisted's name)
        """Do nothing: see above."""

    def _too_long(self) -> ValueError:
        return ValueError(f"a request has at most {self._max_bytes} bytes")

    def _finish(self, _: object) -> None:
        if not self.done.called:
            self.done.callback(b"".join(self._pieces))

    def _fail(self, failure: Failure) -> None:
        if not self.done.called:
            self.done.errback(failure)
