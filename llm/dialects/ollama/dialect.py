"""Ollama's native API on the side of the server."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect, OfferedModelName
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.ollama.reading import read_request
from mud_assistant.llm.dialects.ollama.rendering import OllamaRenderer
from mud_assistant.llm.messages import JSON, JSONObject

#: What a client reads of a model's make. No model of the gateway is a file, so it says nothing of one.
_FAMILY = "gateway"
_DETAILS: JSONObject = {
    "parent_model": "",
    "format": "",
    "family": _FAMILY,
    "families": [_FAMILY],
    "parameter_size": "",
    "quantization_level": "",
}


class OllamaDialect(Dialect):
    """Ollama's `/api/chat`, `/api/tags` and `/api/show`. `now` gives clock seconds, by which answers say their time."""

    name = "ollama"
    providers = frozenset({"ollama"})
    stream_type = b"application/x-ndjson"
    between_events = b"\n"

    def __init__(self, now: Callable[[], float] | None = None) -> None:
        self._now = now

    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Raises RequestRefused."""
        return read_request(body)

    def renderer(self, asked: AskedCall, head: AnswerHead) -> OllamaRenderer:
        """Return what makes the bytes of one answer."""
        return OllamaRenderer(asked, head, self._now)

    def error_body(self, failure: Failure) -> tuple[int, JSONObject]:
        """Return the status and the body of a response that says why there is no answer."""
        return failure.kind.status, {"error": failure.message}

    def models_body(self, models: Sequence[OfferedModelName]) -> JSONObject:
        """Return the body of `/api/tags`."""
        return {"models": [_listed(model) for model in models]}

    def model_body(self, model: OfferedModelName) -> JSONObject:
        """Return the body of `/api/show`. The length of the context is left out when it is not known."""
        info: dict[str, JSON] = {"general.architecture": _FAMILY, "general.basename": model.name}
        if model.context_tokens is not None:
            info[f"{_FAMILY}.context_length"] = model.context_tokens
        able = [word for word, has in (("tools", model.has_tools), ("vision", model.sees_images)) if has]
        return {
            "license": "",
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": _DETAILS,
            "model_info": info,
            "capabilities": ["completion", *able],
            "modified_at": _moment(model.created),
        }

    def wants_stream(self, body: JSONObject) -> bool:
        """Tell whether the request asks for a stream, as it does unless it says otherwise."""
        return body.get("stream") is not False


def _listed(model: OfferedModelName) -> JSONObject:
    """Return a model's entry in the list. The digest only tells models apart."""
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": _moment(model.created),
        "size": 0,
        "digest": hashlib.sha256(model.name.encode()).hexdigest(),
        "details": _DETAILS,
    }


def _moment(created: int) -> str:
    return f"{datetime.fromtimestamp(created, UTC):%Y-%m-%dT%H:%M:%SZ}"
