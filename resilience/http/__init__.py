"""One HTTP exchange with limits on its time and size: bytes out, bytes in."""

from mud_assistant.resilience.http.exchange import HttpExchange
from mud_assistant.resilience.http.request import Collected, Limits, Request, Sink, host_of, origin_of

__all__ = ["Collected", "HttpExchange", "Limits", "Request", "Sink", "host_of", "origin_of"]
