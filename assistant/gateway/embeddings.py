"""Answers `/v1/embeddings`: sentence vectors of the model that memories use, in OpenAI's form."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence

from mud_assistant.assistant.gateway.models import MayUse
from mud_assistant.assistant.models.embedding import SharedEmbedder
from mud_assistant.llm.dialects.dialect import OfferedModelName
from mud_assistant.llm.dialects.failures import Failure, FailureKind, RequestRefused
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.embeddings.embedder import Vector
from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.resilience import Caller

#: How many texts one request may have, as at OpenAI.
_MAX_TEXTS = 2048
#: About how many bytes a token has: no server says how many it read.
_BYTES_PER_TOKEN = 4
_OFF = 'no vectors are made here: set [memory] vectors = "embedded", "ollama" or "openai"'


class GatewayEmbeddings:
    """The one model of vectors. `admit` is waited for before it is first used: it allows the key to go to its server.

    `created` is when the model is said to have been made, in seconds since 1970.
    """

    def __init__(self, embedder: SharedEmbedder, admit: Callable[[], Awaitable[None]], created: int) -> None:
        self._embedder = embedder
        self._admit = admit
        self._created = created

    def offered(self, may_use: MayUse) -> list[OfferedModelName]:
        """Return the model, if there is one that may be used."""
        name = self._embedder.model
        return [OfferedModelName(name, self._created, has_tools=False)] if name and may_use(name) else []

    async def answer(self, body: JSONObject, caller: Caller, may_use: MayUse) -> JSONObject:
        """Return the answer to a request. Raises RequestRefused and LLMError. Cancelling closes the connection."""
        fields = RequestFields(body)
        fields.hints({"model", "input", "encoding_format", "dimensions"}, {"user"})
        self._check_model(fields, may_use)
        texts = _texts(fields)
        form = fields.text("encoding_format", "float")
        if form not in {"float", "base64"}:
            raise fields.invalid("encoding_format", "one of float, base64 is required")
        await self._admit()
        embedder = await self._embedder.get()
        if embedder is None:
            raise RequestRefused(Failure(FailureKind.NO_MODEL, _OFF, "model", should_retry=False))
        vectors = await embedder.embed(texts, caller)
        wanted = fields.count("dimensions", 1)
        if wanted is not None and wanted != len(vectors[0]):
            raise fields.unsupported("dimensions", f"this model makes vectors of {len(vectors[0])} numbers")
        data: list[JSON] = [
            {"object": "embedding", "index": at, "embedding": _in_form(vector, form)}
            for at, vector in enumerate(vectors)
        ]
        tokens = sum(-(-len(text.encode()) // _BYTES_PER_TOKEN) for text in texts)
        usage: JSONObject = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": embedder.model, "usage": usage}

    def _check_model(self, fields: RequestFields, may_use: MayUse) -> None:
        asked, name = fields.name("model"), self._embedder.model
        if not name:
            raise RequestRefused(Failure(FailureKind.NO_MODEL, _OFF, "model", should_retry=False))
        if asked != name:
            said = f"there are no vectors of '{asked[:100]}' here; those there are: {name}"
            raise RequestRefused(Failure(FailureKind.NO_MODEL, said, "model", should_retry=False))
        if not may_use(name):
            said = f"this key may not use the model '{name}'"
            raise RequestRefused(Failure(FailureKind.FORBIDDEN, said, "model", should_retry=False))


def _texts(fields: RequestFields) -> Sequence[str]:
    """Return the texts. Prompts in tokens cannot be carried: they are of another model."""
    value = fields.get("input")
    if isinstance(value, list) and value and not isinstance(value[0], str):
        raise fields.unsupported("input", "texts are supported, and no tokens")
    texts = fields.texts("input")
    if not texts or len(texts) > _MAX_TEXTS:
        raise fields.invalid("input", f"1 to {_MAX_TEXTS} texts are required")
    if not all(text.strip() for text in texts):
        raise fields.invalid("input", "no text may be empty")
    return texts


def _in_form(vector: Vector, form: str) -> JSON:
    """Return a vector as a list of numbers, or as base64 of little-endian float32."""
    return list(vector) if form == "float" else b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
