"""One HTTP exchange with limits on its time and size: bytes out, bytes in."""

from resilience.http.exchange import HttpExchange
from resilience.http.request import Collected, Limits, Request, Sink, host_of, origin_of

__all__ = ["Collected", "HttpExchange", "Limits", "Request", "Sink", "host_of", "origin_of"]
