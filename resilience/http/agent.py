"""The exchange as Twisted's `IAgent`, so that clients made for one run on it: `treq.client.HTTPClient(HttpAgent(...))`.

Only who uses it loads it, and Twisted's web client with it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IProtocol, IPushProducer, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IAgent, IBodyProducer, IClientRequest, IResponse
from zope.interface import implementer

from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import TimedOut
from mud_assistant.resilience.http.collecting import CollectedBody
from mud_assistant.resilience.http.request import Exchange, Limits, Request, origin_of

_log = Logger()
#: The most bytes of the body of a request.
MAX_REQUEST_BYTES = 1024 * 1024
#: Seconds for a whole exchange, from the request to the end of the body.
TOTAL_SECONDS = 120.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WITHOUT_BODY = frozenset({204, 304})


@implementer(IAgent)
class HttpAgent:
    """Performs requests over `exchange`. A body that nobody takes for `limits.idle_seconds` ends its exchange.

    Failures are those of the exchange, and DeadlineExceeded after `total_seconds`. Before the response they reach the
    Deferred of the request, afterwards the `connectionLost` of the protocol that takes the body. The body of a redirect
    is dropped: Twisted's `RedirectAgent` never takes it.
    """

    def __init__(
        self,
        exchange: Exchange,
        clock: IReactorTime,
        limits: Limits | None = None,
        *,
        total_seconds: float = TOTAL_SECONDS,
        max_request_bytes: int = MAX_REQUEST_BYTES,
    ) -> None:
        self._exchange = exchange
        self._clock = clock
        self._limits = limits or Limits()
        self._total_seconds = total_seconds
        self._max_request_bytes = max_request_bytes

    def request(
        self,
        method: bytes,
        uri: bytes,
        headers: Headers | None = None,
        bodyProducer: IBodyProducer | None = None,  # noqa: N803  (Twisted's name)
    ) -> Deferred[IResponse]:
        """Return the response as soon as its head has come. Cancelling closes the connection.

        Fails with ValueError for a request that cannot be sent, one with too long a body included.
        """
        sent = SentRequest(method, uri, headers or Headers())
        response = AgentResponse(sent, self._clock, self._limits.idle_seconds)
        work = Deferred.fromCoroutine(self._perform(sent, bodyProducer, response))
        response.runs(Deadline.after(self._clock, self._total_seconds).bound(work))
        return response.answered

    async def _perform(self, sent: SentRequest, producer: IBodyProducer | None, response: AgentResponse) -> None:
        body = b"" if producer is None else await CollectedBody(producer, self._max_request_bytes).done
        request = Request(sent.method.decode("ascii"), sent.absoluteURI.decode("ascii"), sent.headers, body)
        response.origin = origin_of(request.url)
        await self._exchange.perform(request, response, self._limits)


@implementer(IClientRequest)
class SentRequest:
    """The request of a response."""

    def __init__(self, method: bytes, uri: bytes, headers: Headers) -> None:
        self.method = method
        self.absoluteURI = uri
        self.headers = headers


@implementer(IResponse)
class AgentResponse:
    """A response as Twisted's clients know it, and the sink that its exchange feeds.

    The server waits until `deliverBody` is called, and whenever the protocol that takes the body pauses its transport.
    """

    version = (b"HTTP", 1, 1)

    def __init__(self, request: SentRequest, clock: IReactorTime, idle_seconds: float) -> None:
        self.request = request
        self.code = 0
        self.phrase = b""
        self.headers = Headers()
        self.length: Any = UNKNOWN_LENGTH  # Any: a number, or Twisted's constant
        self.previousResponse: IResponse | None = None
        self.origin = ""
        #: Fires with this response once its head has come.
        self.answered: Deferred[IResponse] = Deferred(lambda _: self.stop())
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._work: Deferred[None] | None = None
        self._end: Failure | None = None
        self._protocol: IProtocol | None = None
        self._is_paused = self._is_stopped = False
        self._held: bytes = b""
        self._ready: Deferred[bool] | None = None
        self._timer: IDelayedCall | None = None

    def runs(self, work: Deferred[None]) -> None:
        """Take the work whose end is the end of this response."""
        self._work = work
        work.addBoth(self._ended)

    def stop(self) -> None:
        """End the exchange; the connection is closed."""
        if self._work is not None:
            self._work.cancel()

    def stop_soon(self) -> None:
        """End the exchange in the next turn of the reactor: a protocol that asks for it is still at work."""
        if self._work is not None and not self._is_stopped:
            self._is_stopped = True
            self._stop_timer()
            self._timer = self._clock.callLater(0, self.stop)

    def head(self, status: int, headers: Headers) -> None:
        """Take status and headers, and hand out the response."""
        self.code, self.headers = status, headers
        self.phrase = _phrase(status)
        self.length = self._length()
        if not self.answered.called:
            self.answered.callback(cast(IResponse, self))

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Hand on a piece of the body, or hold it until somebody takes it."""
        if self._is_stopped or self.length == 0:
            return True
        if self._protocol is not None and not self._is_paused:
            self._protocol.dataReceived(piece)
            return False
        self._held = piece
        self._timer = self._clock.callLater(self._idle_seconds, self._nobody_took)
        self._ready = Deferred(self._gave_up)
        return self._ready

    def deliverBody(self, protocol: IProtocol) -> None:  # noqa: N802  (Twisted's name)
        """Feed the body to `protocol`. It may be called once."""
        if self._protocol is not None:
            raise RuntimeError("the body of this response was delivered before")
        self._protocol = protocol
        transport: Any = _BodyTransport(self)  # Any: as in Twisted, what takes a body cannot write
        protocol.makeConnection(transport)
        if self._end is not None:
            self._tell_end(self._end)
        elif not self._is_paused:
            self.resume()

    def setPreviousResponse(self, response: IResponse) -> None:  # noqa: N802  (Twisted's name)
        """Take the response that redirected to this one."""
        self.previousResponse = response

    def pause(self) -> None:
        """Let the server wait."""
        self._is_paused = True

    def resume(self) -> None:
        """Take what waits, and go on."""
        self._is_paused = False
        if self._ready is None or self._is_stopped or self._protocol is None:
            return
        ready, self._ready = self._ready, None
        self._stop_timer()
        held, self._held = self._held, b""
        try:
            self._protocol.dataReceived(held)
        except Exception:  # noqa: BLE001  (every error of the protocol ends the exchange, as in `Transfer`)
            ready.errback(Failure())
        else:
            ready.callback(False)

    def _length(self) -> Any:  # Any: as the attribute
        is_redirect = self.code in _REDIRECTS and self.headers.hasHeader(b"location")
        if is_redirect or self.request.method == b"HEAD" or self.code in _WITHOUT_BODY:
            return 0
        lengths = self.headers.getRawHeaders(b"content-length")
        return int(lengths[0]) if lengths else UNKNOWN_LENGTH

    def _gave_up(self, _: Deferred[bool]) -> None:
        """Let go of what waits: the exchange has failed."""
        self._held, self._ready = b"", None

    def _nobody_took(self) -> None:
        self._timer = None
        ready, self._ready = self._ready, None
        self._held = b""
        if ready is not None:
            said = f"nobody took what {self.origin} sent for {self._idle_seconds:g} s"
            ready.errback(TimedOut(said, self.origin, "idle", self._idle_seconds))

    def _ended(self, result: Failure | None) -> None:
        """Take the end of the exchange: it is told to whoever waits for the response, or takes its body."""
        self._work = None
        self._stop_timer()
        if isinstance(result, Failure) and not self.code:
            if not self.answered.called:
                self.answered.errback(result)
            return
        self._end = result if isinstance(result, Failure) else Failure(self._good_end())
        if self._protocol is not None:
            self._tell_end(self._end)

    def _good_end(self) -> Exception:
        """Return what tells of the end of a body: without a length, it may be the end of the connection alone."""
        is_framed = self.length is not UNKNOWN_LENGTH or self.headers.hasHeader(b"transfer-encoding")
        return ResponseDone("the whole body has come") if is_framed else PotentialDataLoss()

    def _tell_end(self, reason: Failure) -> None:
        assert self._protocol is not None
        try:
            self._protocol.connectionLost(reason)
        except Exception:  # noqa: BLE001  (as Twisted's own connections: a broken protocol is logged)
            _log.failure("a protocol failed at the end of a body")

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None


@implementer(IPushProducer)
class _BodyTransport:
    """What the protocol that takes a body may do: pause, go on, and end the exchange."""

    def __init__(self, response: AgentResponse) -> None:
        self.pauseProducing = response.pause
        self.resumeProducing = response.resume
        self.stopProducing = self.loseConnection = self.abortConnection = response.stop_soon


def _phrase(status: int) -> bytes:
    """Return the reason phrase of a status, empty for one that has none."""
    try:
        return HTTPStatus(status).phrase.encode("ascii")
    except ValueError:
        return b""
