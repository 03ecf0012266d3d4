"""Sends one streamed answer to a client: opens it as late as it may, and shows signs of life while nothing comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.request import ActingListener
from mud_assistant.llm.response import StreamEvent

#: Seconds of silence after which a client is shown that the call goes on. Clients give up after 30 s and more.
PING_SECONDS = 15.0
HTTP_OK = 200
Headers = Sequence[tuple[bytes, bytes]]


class AnswerStream:
    """One answer as a stream. It begins with the first bytes, or when a sign of life is due.

    Until then an error still gets a status of its own. `headers` are asked for when it begins. `opening` are the bytes
    of the dialect that stand before everything, empty where they come from the provider itself.
    """

    def __init__(
        self,
        response: ClientResponse,
        clock: IReactorTime,
        headers: Callable[[], Headers],
        ping: Callable[[], bytes],
        opening: Callable[[], bytes] = bytes,
    ) -> None:
        self._response = response
        self._clock = clock
        self._headers = headers
        self._ping = ping
        self._opening = opening
        self._is_opened = False
        #: The end of what was sent: a sign of life stands between two events, never inside one.
        self._end = b"\n\n"
        self._timer: IDelayedCall | None = clock.callLater(PING_SECONDS, self._show_life)
        self._written_at = clock.seconds()

    @property
    def has_begun(self) -> bool:
        """Whether the client has the status and the headers."""
        return self._response.is_started

    @property
    def is_opened(self) -> bool:
        """Whether the client has what stands before the answer, which no other model may send again."""
        return self._is_opened

    def write(self, data: bytes) -> Deferred[None] | None:
        """Send a part of the answer. Returns a Deferred that fires when more may be sent, None for at once."""
        if not data:
            return None
        opening = self._begin()
        self._end = (self._end + data[-4:])[-4:]
        self._written_at = self._clock.seconds()
        return self._response.write(opening + data if opening else data)

    def finish(self, data: bytes = b"") -> None:
        """Send the end of the answer, and no more."""
        self.stop()
        opening = self._begin()
        if opening or data:
            self._response.write(opening + data)
        self._response.finish()

    def fail(self, data: bytes, between: bytes) -> None:
        """Send what ends a stream that cannot be finished. `between` stands between two events of this dialect.

        The provider may have broken off inside an event: what it sent of it cannot be taken back.
        """
        self.finish(data if self._end.endswith(between) else between + data)

    def stop(self) -> None:
        """Show no more signs of life."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> bytes:
        """Return what stands before the answer, once. Send the status, unless a model before this one had it sent."""
        if not self._response.is_started:
            self._response.start(HTTP_OK, self._headers())
        opening, self._opening = self._opening(), bytes
        self._is_opened = self._is_opened or bool(opening)
        return opening

    def _show_life(self) -> None:
        """Show a sign of life when nothing was sent for long enough, and look again."""
        now = self._clock.seconds()
        wait = PING_SECONDS - (now - self._written_at)
        if wait <= 0:
            wait = PING_SECONDS
            self._written_at = now
            if self._end.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")):
                self.write(self._ping())
        self._timer = self._clock.callLater(wait, self._show_life)


class RenderingListener(ActingListener):
    """A listener that renders what it hears, and sends it at once. An answer of which anything was sent is not retried.

    A model that is asked for calls as text may write one as its answer: its text is then held until it is whole.
    """

    def __init__(self, renderer: AnswerRenderer, stream: AnswerStream) -> None:
        self._renderer = renderer
        self._stream = stream

    @property
    def acted(self) -> bool:
        """Whether anything of the answer was sent."""
        return self._renderer.has_content

    def begins(self, *, text_is_answer: bool, as_text: bool = False) -> None:
        """Forget an attempt of which nothing was sent."""
        if not self._renderer.has_content:
            self._renderer.restart()
        self._renderer.holds_text = as_text

    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        """Render one event and send what it adds."""
        return self._stream.write(self._renderer.feed(event))
