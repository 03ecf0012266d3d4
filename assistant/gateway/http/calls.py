"""One request of a client, as a handler sees it, and what a handler is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mud_assistant.assistant.gateway.http.response import ClientResponse, ResponseHeaders
from mud_assistant.llm.dialects.failures import Failure


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
