"""Answers that need no model: a whole document, and what clients and watchers ask to see whether anything is there."""

from __future__ import annotations

from importlib.metadata import version

import orjson

from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.assistant.gateway.streaming import HTTP_OK, Headers
from mud_assistant.llm.messages import JSONObject

#: Where those who watch the gateway look: whether it is alive, and whether it is ready.
HEALTH, READY = "/healthz", "/readyz"
#: The paths that need no key.
OPEN_PATHS = frozenset({"", "/", "/api/version", HEALTH, READY})
_NOT_READY = 503
#: What Ollama says at the root; its clients look for it.
_GREETING = b"Ollama is running"


def send_json(response: ClientResponse, body: JSONObject, more: Headers = (), status: int = HTTP_OK) -> None:
    """Send a whole response."""
    encoded = orjson.dumps(body)
    length = (b"content-length", str(len(encoded)).encode())
    response.start(status, [(b"content-type", b"application/json"), length, *more])
    response.write(encoded)
    response.finish()


def send_greeting(path: str, response: ClientResponse, *, is_ready: bool) -> None:
    """Answer at one of the open paths. Nothing is told of models, keys and settings."""
    if path == HEALTH:
        send_json(response, {"status": "ok"})
        return
    if path == READY:
        send_json(
            response, {"status": "ready" if is_ready else "not ready"}, status=HTTP_OK if is_ready else _NOT_READY
        )
        return
    if path == "/api/version":
        send_json(response, {"version": version("mud-assistant")})
        return
    response.start(HTTP_OK, [(b"content-type", b"text/plain"), (b"content-length", str(len(_GREETING)).encode())])
    response.write(_GREETING)
    response.finish()
