"""The gateway's HTTP: takes requests in and sends answers out; knows nothing of dialects and models."""

from assistant.gateway.http.bodies import BodyReader
from assistant.gateway.http.calls import ClientRequest, Handler
from assistant.gateway.http.guards import HeadGuard
from assistant.gateway.http.listener import GatewayListener
from assistant.gateway.http.response import ClientResponse
from assistant.gateway.http.strict_json import strict_json

__all__ = [
    "BodyReader",
    "ClientRequest",
    "ClientResponse",
    "GatewayListener",
    "Handler",
    "HeadGuard",
    "strict_json",
]
