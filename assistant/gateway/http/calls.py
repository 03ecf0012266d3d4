"""One request of a client and its answer, as a handler sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from twisted.internet.defer import Deferred

from llm.dialects.failures import Failure

#: The headers of an answer, in the order in which they are sent.
ResponseHeaders = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request that has passed the guards. Nothing that may hold a key is in its repr.

    `id` is ours, and is sent as `request-id` and `x-request-id`. `path`, `query`, `headers` and `credential` are as
    RequestHead has them. `body` is inflated. `address` is the client's.
    """

    id: str
    method: str
    path: str
    query: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    credential: str = field(repr=False)
    address: str


class ClientResponse(Protocol):
    """The answer to one request. When the client has left, what is written is dropped."""

    @property
    def is_started(self) -> bool:
        """Whether the status was sent."""
        ...

    def start(self, status: int, headers: ResponseHeaders) -> None:
        """Send the status and the headers, once. An answer that is sent whole says its content-length itself."""
        ...

    def write(self, data: bytes) -> Deferred[None] | None:
        """Send a piece of the body. Return None while at most 64 KiB wait to be sent.

        Else return what fires when all of it was sent, and fails with ClientGone when the client leaves first or takes
        nothing for 60 seconds. A caller who writes more before that fills the memory.
        """
        ...

    def finish(self) -> None:
        """End the answer. No effect after the first time, or when the client has left."""
        ...

    def abort(self) -> None:
        """Cut the connection: the client must not take what it has for the whole."""
        ...


class Handler(Protocol):
    """What answers the requests."""

    async def handle(self, request: ClientRequest, response: ClientResponse) -> None:
        """Answer a request. Cancelled when the client leaves or the listener closes.

        RequestRefused and UnreadRequest are told to the client when nothing was sent yet; any other error is logged,
        and told as a failure of the gateway.
        """
        ...

    def refuse(self, path: str, headers: Mapping[str, str], failure: Failure) -> tuple[int, ResponseHeaders, bytes]:
        """Return the status, the headers and the body that tell a failure in the dialect of a path.

        The path is empty where it could not be read.
        """
        ...
