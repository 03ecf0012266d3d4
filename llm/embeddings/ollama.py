"""Ollama's own `/api/embed`: a list of lists, in the order of the texts, without an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from mud_assistant.llm.embeddings.remote import EmbeddingDialect, read_object
from mud_assistant.llm.errors import ProtocolError
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.resilience import Request

#: How long the server keeps the model loaded after a request.
_KEEP_ALIVE = "10m"


class OllamaEmbeddings(EmbeddingDialect):
    """An Ollama server. `provider` is the one for its chat, which knows the address and its errors."""

    def __init__(self, provider: LLMProvider, keep_alive: str = _KEEP_ALIVE) -> None:
        super().__init__(provider)
        self._keep_alive = keep_alive

    def build_request(self, texts: Sequence[str]) -> Request:
        """Return the request for the vectors of these texts.

        What is longer than the model reads although we cut it is cut by the server.
        """
        provider = self.provider
        body: JSONObject = {
            "model": provider.model,
            "input": list(texts),
            "truncate": True,
            "keep_alive": self._keep_alive,
        }
        return Request("POST", f"{provider.api_url}/api/embed", provider.build_headers(), orjson.dumps(body))

    def parse_vectors(self, body: bytes) -> list[Iterable[float]]:
        """Return the vectors in an answer. Raises ProtocolError."""
        rows = read_object(body, self.provider).get("embeddings")
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise ProtocolError("did not answer with vectors", self.provider.name, self.provider.model)
        return rows
