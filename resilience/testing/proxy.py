"""A proxy on this machine that lays faults over the answers of a server, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import urlsplit

from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.testing.fault_server import FaultServer, serving, silent
from mud_assistant.resilience.testing.faults import Plan, Record

_WRITE_LIKE = "write the model server's address like http://127.0.0.1:11434/v1"


class FaultProxy(FaultServer):
    """Passes HTTP/1.1 on to `upstream_host`:`upstream_port`. Bytes pass unchanged, the Host header too."""

    def __init__(
        self,
        reactor: IReactorTime,
        upstream_host: str,
        upstream_port: int,
        plan: Plan,
        random: Random | None = None,
        *,
        path: str = "",
        on_request: Callable[[Record], None] = silent,
    ) -> None:
        super().__init__(reactor, None, plan, random, path=path, on_request=on_request)
        self.host = upstream_host
        self.port = upstream_port


def upstream_of(url: str) -> tuple[str, int, str]:
    """Return host, port and path (with a query) of a server's address.

    Raises ValueError that says what to write instead.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"{_WRITE_LIKE}: the port is a number up to 65535") from None
    if parts.scheme == "https":
        raise ValueError(f"{_WRITE_LIKE}: the fault proxy speaks plain http, not https")
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"{_WRITE_LIKE}, with http:// and a host")
    if "@" in parts.netloc:
        raise ValueError(f"{_WRITE_LIKE}, without a name or a password")
    return parts.hostname, 80 if port is None else port, parts.path + (f"?{parts.query}" if parts.query else "")


@asynccontextmanager
async def proxied(
    url: str,
    reactor: IReactorTime,
    plan: Plan,
    *,
    random: Random | None = None,
    port: int = 0,
    on_request: Callable[[Record], None] = silent,
) -> AsyncIterator[FaultProxy]:
    """Run a proxy in front of the server at `url` for a block. Its `url` has the same path; `port` 0 takes a free one.

    `reactor` must be a real one. Without `random` the random choices are the same each time. Raises ValueError for an
    address that the proxy cannot pass requests on to.
    """
    host, upstream_port, path = upstream_of(url)
    proxy = FaultProxy(reactor, host, upstream_port, plan, random, path=path, on_request=on_request)
    async with serving(proxy, port):
        yield proxy
