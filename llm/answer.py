"""Reads the response to one request, from its first byte to the finished answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, ProtocolError, StreamBroken
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import ActingListener
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.wire.accumulate import Accumulator
from mud_assistant.llm.wire.building import AnswerBuilder, AnswerParser, EventRecorder
from mud_assistant.llm.wire.error_bodies import excerpt

HTTP_OK = 200
#: How many bytes of a body that is not an answer are shown in its error.
_SHOWN_BYTES = 300
#: How many bytes of an error body are read.
_MAX_ERROR_BYTES = 64 * 1024
_BOM = b"\xef\xbb\xbf"
#: The headers of a response that has not come. Never changed.
NO_HEADERS = Headers()


class AnswerSink:
    """A reader of one HTTP response as this provider's stream. `result` returns the collected answer or raises."""

    def __init__(
        self,
        provider: LLMProvider,
        known: Collection[str],
        new_id: Callable[[], str],
        listener: ActingListener | None,
        *,
        clock: IReactorTime,
        progress_seconds: float = 300.0,
        on_progress: Callable[[], None] | None = None,
    ) -> None:
        """Prepare to read one response. `on_progress` is called whenever a part of the answer arrives."""
        self._progress_seconds = progress_seconds
        self._progress_at = clock.seconds()
        self._on_progress = on_progress
        self._provider = provider
        self._parser: AnswerParser | None = None
        self._listener = listener
        self._whole: list[bytes] | None = None
        self._whole_size = 0
        self._kind = ""
        self._beginning = b""
        #: Whether anything but blanks has arrived. Some gateways send blanks to keep the connection alive.
        self._has_begun = False
        self._decoded = False
        #: Called whenever the server sent something. It returns the time, in clock seconds.
        self.heard: Callable[[], float] = clock.seconds
        self.status = 0
        self.headers = NO_HEADERS
        self.accumulator = Accumulator(known, new_id)
        #: Events are made only for a listener. The answer is then built of each event before the listener hears it.
        self._recorder = None if listener is None else EventRecorder()

    @property
    def was_acted_upon(self) -> bool:
        """Whether the listener did something that cannot be taken back."""
        return self._listener is not None and self._listener.acted

    def head(self, status: int, headers: Headers) -> None:
        """Take the response head. Raises ProtocolError for a compressed body, since none was requested."""
        self.heard()
        self.status, self.headers = status, headers
        self._kind = _header(headers, "content-type").lower()
        encoding = _header(headers, "content-encoding").lower()
        if encoding not in {"", "identity"}:
            raise self._protocol_error(f"sent {encoding} though plain bytes were asked for")
        if status != HTTP_OK:
            self._whole = []

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Take bytes. Return True when the stream's end mark was seen or an error body is long enough.

        Returns a Deferred of that value when the listener holds the stream back.

        What arrives is judged by its first byte more than by its Content-Type.
        """
        now = self.heard()
        parser = self._parser
        if parser is None:
            if not self._has_begun:
                piece = self._without_blanks(piece)
                if not piece:
                    self._check_progress(now)
                    return False
                if self._whole is None and self._provider.is_whole(self._kind, piece[:1]):
                    self._whole = []
            if self._whole is not None:
                self._whole.append(piece)
                self._whole_size += len(piece)
                return self.status != HTTP_OK and self._whole_size > _MAX_ERROR_BYTES
            parser = self._parser = self._provider.answer_parser(self._builder)
        if parser.feed(piece):
            self._decoded = True
            self._progress_at = now
            if self._on_progress is not None:
                self._on_progress()
        else:
            self._check_progress(now)
        if self._recorder is None or (waits := self._tell_at_once(self._recorder.take())) is None:
            return parser.complete
        told = Deferred.fromCoroutine(waits)
        return _settle(told.addCallback(lambda _: parser.complete))

    async def result(self) -> Accumulator:
        """Return the collected answer. Raises the typed error for anything that is not an answer."""
        if self.status != HTTP_OK:
            body = b"".join(self._whole or ())
            raise self._provider.parse_error_response(self.status, self.headers, self._provider.redact_body(body))
        try:
            await self._read_rest()
        except StreamBroken as error:
            if self._whole is None and self._has_begun and not self._decoded:
                raise self._protocol_error(f"not an answer: {excerpt(self._beginning)}") from error
            error.partial = self.accumulator.text
            raise
        return self.accumulator

    async def _read_rest(self) -> None:
        """Read what is known only at the end. The listener hears what came before an error, too."""
        try:
            if self._whole is not None:
                self._provider.read_response(b"".join(self._whole), self._builder)
            else:
                (self._parser or self._provider.answer_parser(self._builder)).end()
        finally:
            if self._recorder is not None:
                await self._tell(self._recorder.take())

    @property
    def _builder(self) -> AnswerBuilder:
        return self.accumulator if self._recorder is None else self._recorder

    def _without_blanks(self, piece: bytes) -> bytes:
        """Return the body from its first byte that is not blank, or nothing while there is none."""
        start = (self._beginning + piece).lstrip()
        if _BOM.startswith(start[: len(_BOM)]):  # also part of a BOM, or nothing yet
            start_of_mark, start = start[: len(_BOM)], start[len(_BOM) :].lstrip()
            if not start:
                self._beginning = start_of_mark
                return b""
        self._has_begun = True
        self._beginning = start[:_SHOWN_BYTES]
        return start

    def broken(self, why: str) -> LLMError:
        """Return the error for an answer that began and did not end. The error keeps its text as `partial`."""
        return StreamBroken(why, self._provider.name, self._provider.model, partial=self.accumulator.text)

    def _tell_at_once(self, events: list[StreamEvent]) -> Coroutine[Deferred[None], None, None] | None:
        """Tell the listener until it must be waited for. Return a coroutine for the rest of the telling, or None.

        Most listeners are never waited for, and a coroutine for each piece of a stream costs more than the piece.
        """
        for told, event in enumerate(events, 1):
            self.accumulator.feed(event)
            if self._listener is not None and (busy := self._listener(event)) is not None:
                return self._tell_after(busy, events[told:])
        return None

    async def _tell_after(self, busy: Deferred[None], events: list[StreamEvent]) -> None:
        await busy
        await self._tell(events)

    async def _tell(self, events: list[StreamEvent]) -> None:
        for event in events:
            self.accumulator.feed(event)
            if self._listener is not None and (busy := self._listener(event)) is not None:
                await busy

    def _check_progress(self, now: float) -> None:
        """Raise when only comments and pings have arrived for too long.

        They keep a connection alive, but must not do so for ever.
        """
        if now - self._progress_at > self._progress_seconds:
            raise self.broken(f"nothing but signs of life for {self._progress_seconds:g} s")

    def _protocol_error(self, why: str) -> ProtocolError:
        return ProtocolError(why, self._provider.name, self._provider.model, self.status)


def _settle(told: Deferred[bool]) -> bool | Deferred[bool]:
    """Return the result if it is there already (or raise its error), else return the Deferred."""
    results: list[bool] = []
    failures: list[Failure] = []
    if told.called:
        told.addCallbacks(results.append, failures.append)
    if failures:
        failures[0].raiseException()
    return results[0] if results else told


def _header(headers: Headers, name: str) -> str:
    return headers.getRawHeaders(name, [""])[0]
