"""What Twisted alone costs as a gateway, with `Site` and `Agent`: `python -m benchmarks.bare_gateway PORT URL`."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import react
from twisted.python.failure import Failure
from twisted.web.client import Agent, FileBodyProducer, HTTPConnectionPool
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

#: Idle connections kept, so that nobody connects anew.
_WIDE = 256
_PASSED = (b"content-type", b"content-length")


class Forward(Resource):
    """Passes each request on."""

    isLeaf = True

    def __init__(self, reactor: Any, url: str) -> None:
        super().__init__()
        pool = HTTPConnectionPool(reactor)
        pool.maxPersistentPerHost = _WIDE
        self._agent = Agent(reactor, pool=pool)
        self._url = url.encode()

    def render_POST(self, request: Request) -> Any:
        """Ask, and hand on what comes."""
        headers = Headers({b"content-type": [b"application/json"]})
        body = FileBodyProducer(BytesIO(request.content.read()))
        asked = self._agent.request(b"POST", self._url + request.uri, headers, body)
        asked.addCallback(_begin, request)
        asked.addErrback(request.processingFailed)
        return NOT_DONE_YET


class _Passing(Protocol):
    """Hands a body on."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def dataReceived(self, data: bytes) -> None:
        """Hand a piece on."""
        self._request.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the answer."""
        self._request.finish()


def _begin(response: Any, request: Request) -> None:
    request.setResponseCode(response.code)
    for name in _PASSED:
        for value in response.headers.getRawHeaders(name, ()):
            request.responseHeaders.addRawHeader(name, value)
    response.deliverBody(_Passing(request))


def main(reactor: Any) -> Deferred[None]:
    """Serve until the process is ended."""
    port, url = sys.argv[1:]
    reactor.listenTCP(int(port), Site(Forward(reactor, url)), interface="127.0.0.1")
    return Deferred()


if __name__ == "__main__":
    react(main, ())
