"""Judges the head of a request before its body is read: whether it is for this gateway, and who may send it."""

from __future__ import annotations

from collections.abc import Iterable

from mud_assistant.assistant.gateway.http.bodies import ENCODINGS
from mud_assistant.assistant.http_server.addresses import is_loopback, split_host
from mud_assistant.assistant.http_server.bounds import UnreadRequest
from mud_assistant.assistant.http_server.request_head import RequestHead
from mud_assistant.llm.dialects.failures import Failure, FailureKind

#: The kind of each status with which a request is refused unread, and whether a client may send it again by itself.
_KINDS = {
    400: (FailureKind.INVALID, False),
    403: (FailureKind.FORBIDDEN, False),
    404: (FailureKind.NOT_FOUND, False),
    408: (FailureKind.SLOW_BODY, True),
    413: (FailureKind.TOO_LARGE, False),
    415: (FailureKind.BAD_TYPE, False),
    421: (FailureKind.WRONG_HOST, False),
    503: (FailureKind.OVERLOADED, True),
}


class HeadGuard:
    """Lets in what is meant for this gateway and was not sent by a page in a browser.

    `hosts` are names and addresses without a port, beside those of loopback and the address that was connected to.
    `origins` are what browsers send as Origin, such as "http://localhost:3000".
    """

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(split_host(host)[0] for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def check(self, head: RequestHead, local_address: str) -> None:
        """Refuse what must not be read on. `local_address` is that of our end of the connection.

        Raises UnreadRequest.
        """
        host = head.headers.get("host", "")
        if not head.path.startswith("/"):
            raise UnreadRequest(400, "the target of a request must be a path")
        if not host or "," in host:
            raise UnreadRequest(400, "a request needs exactly one Host header")
        if not self._is_own(host, local_address):
            raise UnreadRequest(421, "this gateway is not served under that name; put the name into [gateway] hosts")
        origin = head.headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            said = "requests of pages in a browser are refused; put their origin into [gateway] origins"
            raise UnreadRequest(403, said)
        if head.path == "/v1/v1" or head.path.startswith("/v1/v1/"):
            raise UnreadRequest(404, "there is no such path: your base URL has /v1 twice")
        if head.encoding not in ENCODINGS:
            raise UnreadRequest(415, "a body may be encoded as gzip or deflate, or not at all")

    def _is_own(self, host: str, local_address: str) -> bool:
        name, _ = split_host(host)
        local = local_address.removeprefix("::ffff:")  # IPv4 on a port that takes both
        return is_loopback(name) or name == local or name in self._hosts


def failure_of_unread(refused: UnreadRequest) -> Failure:
    """Return what the client is told of a request that was not read to its end."""
    kind, should_retry = _KINDS[refused.status]
    return Failure(kind, str(refused), retry_after=refused.retry_after, should_retry=should_retry)
