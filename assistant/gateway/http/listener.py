"""READ FIRST: gives each request that has arrived to the handler. No request is logged: it could hold a secret."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure as Reason

from mud_assistant.assistant.gateway.http.bodies import MAX_BODY, MAX_HELD, BodyReader
from mud_assistant.assistant.gateway.http.calls import ClientRequest, Handler
from mud_assistant.assistant.gateway.http.guards import HeadGuard, failure_of_unread
from mud_assistant.assistant.gateway.http.response import ClientResponse, ResponseHeaders, add_own_headers
from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.http_server.bounds import ClientGone, UnreadRequest, no_room
from mud_assistant.assistant.http_server.channel import ReceivedRequest
from mud_assistant.assistant.http_server.http_listener import HttpListener, render_whole
from mud_assistant.assistant.http_server.request_head import RequestHead
from mud_assistant.llm.dialects.failures import Failure, FailureKind, RequestRefused
from mud_assistant.resilience.coroutines import CoroutineRunner

_STOPS = Failure(FailureKind.OVERLOADED, "the gateway stops", retry_after=1.0)
_FAILED = Failure(FailureKind.INTERNAL, "the gateway failed; its log says why")

_log = Logger()


class GatewayListener(HttpListener):
    """Gives each request that has arrived to the handler, as soon as its body was read.

    `new_id` makes the id of a request, of ASCII without spaces.
    `bodies` is not closed with the listener. Those in `proxies` are believed who they ask for.
    """

    def __init__(
        self,
        handler: Handler,
        guard: HeadGuard,
        bodies: BodyReader,
        reactor: Any,  # Any: the reactor has no one interface for connections
        *,
        clock: IReactorTime,
        new_id: Callable[[], str],
        proxies: Proxies | None = None,
    ) -> None:
        self._handler = handler
        self._bodies = bodies
        self._new_id = new_id
        self._proxies = proxies or Proxies()
        #: The requests that are being answered, each with what fires when that is over.
        self._answering: dict[CoroutineRunner, Deferred[None]] = {}
        super().__init__(
            reactor,
            clock,
            max_body=MAX_BODY,
            max_held=MAX_HELD,
            judge=guard.check,
            render_refusal=self._render_refusal,
            on_request=self._begin,
            stop_answering=self._cancel_all,
        )

    def __len__(self) -> int:
        """Return how many requests are being answered."""
        return len(self._answering)

    async def _cancel_all(self) -> None:
        """Cancel every handler, and wait until all have ended."""
        answering = DeferredList(list(self._answering.values()))
        for runner in list(self._answering):
            runner.cancel()
        await answering

    def _begin(self, request: ReceivedRequest) -> None:
        request_id = self._new_id()
        response = ClientResponse(request, request_id)
        runner = CoroutineRunner(self._serve(request, request_id, response))
        over = self._answering[runner] = Deferred[None]()

        def end(result: object) -> None:
            del self._answering[runner]
            if isinstance(result, Reason) and not result.check(CancelledError):
                _log_error(result.value, request_id)
                response.abort()
            over.callback(None)

        def leave() -> None:
            response.is_over = True
            runner.cancel()

        runner.start(end)
        if not response.is_over:
            request.on_gone = leave

    async def _serve(self, request: ReceivedRequest, request_id: str, response: ClientResponse) -> None:
        """Answer a request in any case, but for a client that has left."""
        try:
            asked = await self._read(request, request_id)
            await self._handler.handle(asked, response)
            if not response.is_over:
                _log.error("a request of the gateway was not answered (request {id})", id=request_id)
                self._tell(request.head, response, _FAILED)
        except CancelledError:
            self._tell(request.head, response, _STOPS)
            raise
        except ClientGone:
            response.abort()
        except RequestRefused as refused:
            self._tell(request.head, response, refused.failure)
        except UnreadRequest as refused:
            self._tell(request.head, response, failure_of_unread(refused))
        except Exception as error:  # noqa: BLE001  (whatever it is, the client needs an answer)
            _log_error(error, request_id)
            self._tell(request.head, response, _FAILED)

    async def _read(self, request: ReceivedRequest, request_id: str) -> ClientRequest:
        head, sent = request.head, request.take_body()
        body = await self._bodies.inflated(head.encoding, sent)
        if not request.hold(max(0, len(body) - len(sent))):
            raise no_room()
        return ClientRequest(
            id=request_id,
            method=head.method,
            path=head.path,
            query=head.query,
            headers=head.headers,
            body=body,
            credential=head.credential,
            address=self._proxies.client_of(str(getattr(request.client, "host", "?")), head.headers),
        )

    def _tell(self, head: RequestHead, response: ClientResponse, failure: Failure) -> None:
        """Tell a failure, or cut an answer that has begun."""
        if response.is_started:
            response.abort()
        elif not response.is_over:
            response.send(*self._refusal(head, failure))

    def _render_refusal(self, refused: UnreadRequest, head: RequestHead | None) -> bytes:
        status, said, body = self._refusal(head, failure_of_unread(refused))
        is_head = head is not None and head.method == "HEAD"
        return render_whole(status, add_own_headers(said, self._new_id(), closes=True), body, is_head=is_head)

    def _refusal(self, head: RequestHead | None, failure: Failure) -> tuple[int, ResponseHeaders, bytes]:
        path, headers = (head.path, head.headers) if head else ("", {})
        try:
            return self._handler.refuse(path, headers, failure)
        except Exception as error:  # noqa: BLE001  (it is synchronous; a client without an answer would wait)
            _log_error(error, "")
            return FailureKind.INTERNAL.status, [], b""


def _log_error(error: BaseException | None, request_id: str) -> None:
    """Log what failed and where. The message is left out: it may hold what a client or a provider sent."""
    at = traceback.extract_tb(error.__traceback__ if error else None)[-1:]
    _log.error(
        "a request of the gateway failed: {kind} at {place} (request {id})",
        kind=type(error).__name__,
        place=", ".join(f"{frame.filename}:{frame.lineno}" for frame in at),
        id=request_id,
    )
