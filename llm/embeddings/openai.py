"""OpenAI's `/v1/embeddings`, as many servers have it: llama.cpp, vLLM, LM Studio, Ollama, and OpenAI itself.

Vectors are asked for as base64 of little-endian float32, which is a fraction of the work of a list of numbers, and are
read in either form. They are put in order by their `index`.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from mud_assistant.llm.embeddings.remote import EmbeddingDialect, read_object
from mud_assistant.llm.errors import BadVectors, ProtocolError, Rejected
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.resilience import Request

_FORM = "encoding_format"


class OpenAIEmbeddings(EmbeddingDialect):
    """A server with OpenAI's API. The `api_url` of its provider ends with the version, such as `/v1`."""

    def __init__(self, provider: LLMProvider) -> None:
        super().__init__(provider)
        self._asks_for_base64 = True

    def build_request(self, texts: Sequence[str]) -> Request:
        """Return the request for the vectors of these texts."""
        provider = self.provider
        form: JSONObject = {_FORM: "base64"} if self._asks_for_base64 else {}
        body: JSONObject = {"model": provider.model, "input": list(texts), **form}
        return Request("POST", f"{provider.api_url}/embeddings", provider.build_headers(), orjson.dumps(body))

    def parse_vectors(self, body: bytes) -> list[Iterable[float]]:
        """Return the vectors in an answer, ordered by index. Raises ProtocolError or BadVectors."""
        items = read_object(body, self.provider).get("data")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._not_vectors()
        if any("index" in item for item in items):
            items = self._in_order(items)
        return [self._row(item.get("embedding")) for item in items]

    def adapt(self, error: Rejected) -> bool:
        """Leave out the form of the numbers when a server does not know it."""
        is_about_form = _FORM in error.parameter or _FORM in error.message or "base64" in error.message
        learned = self._asks_for_base64 and is_about_form
        self._asks_for_base64 = self._asks_for_base64 and not learned
        return learned

    # Any: JSON of a server.
    def _in_order(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the items by their index, each of which must stand there once."""
        by_index = {item.get("index"): item for item in items}
        if set(by_index) != set(range(len(items))):
            raise BadVectors("sent vectors that do not say which text they are of")
        return [by_index[at] for at in range(len(items))]

    def _row(self, value: object) -> Iterable[float]:
        if isinstance(value, str):
            return self._decoded(value)
        if isinstance(value, list) and value and isinstance(value[0], list):
            if len(value) > 1:
                raise BadVectors("sent a vector for each word of a text: the server must pool them (--pooling mean)")
            value = value[0]
        if not isinstance(value, list):
            raise self._not_vectors()
        return value

    def _decoded(self, text: str) -> array[float]:
        numbers = array("f")
        try:
            numbers.frombytes(b64decode(text, validate=True))
        except (Base64Error, ValueError) as error:
            raise self._not_vectors() from error
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def _not_vectors(self) -> ProtocolError:
        return ProtocolError("did not answer with vectors", self.provider.name, self.provider.model)
