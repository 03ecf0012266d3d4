"""Gets vectors from a server: in batches, over the pipeline of all model calls, each answer checked.

A dialect says how one API is asked and how its answer is read (`ollama.py`, `openai.py`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.web.http_headers import Headers

from mud_assistant.llm.attempt import explain_missing_model, map_failed_exchange, map_unmade_call, set_retry_at
from mud_assistant.llm.discover import require_object
from mud_assistant.llm.embeddings.embedder import MAX_BATCH, MEMORY, Vector, unit_vectors
from mud_assistant.llm.errors import (
    BadCredential,
    BadVectors,
    ContextOverflow,
    LLMError,
    ModelNotFound,
    ProtocolError,
    Rejected,
)
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.verdicts import verdict_of
from mud_assistant.llm.wire.rate_limits import Moment
from mud_assistant.resilience import (
    Amount,
    Attempt,
    Call,
    Caller,
    CallTarget,
    Collected,
    Deadline,
    HttpExchange,
    Limits,
    Pipeline,
    Request,
    ResilienceError,
    RetryConfig,
    Sink,
    UpstreamConfig,
    origin_of,
)

T = TypeVar("T")

#: The time for one request, with what is tried again, in seconds.
REQUEST_SECONDS = 60.0
#: How many characters of a text are sent when the model's context is not known.
MAX_CHARACTERS = 8000
#: How many characters a token has in usual English. What is too long all the same is cut again.
_CHARACTERS_PER_TOKEN = 4
#: No text is cut below this many characters because a server finds it too long.
_LEAST_CHARACTERS = 64
#: How many numbers are read from one answer, since that holds the reactor: 10 ms or so.
_MAX_NUMBERS = 50_000
_OK, _NOT_IMPLEMENTED = 200, 501
#: What Ollama says when its model made a number that JSON does not have.
_NOT_FINITE = ("unsupported value: NaN", "unsupported value: +Inf", "unsupported value: -Inf")


class EmbeddingDialect(ABC):
    """How one API is asked for vectors. `provider` has its address, key, model and words for errors."""

    def __init__(self, provider: LLMProvider) -> None:
        self.provider = provider

    @abstractmethod
    def build_request(self, texts: Sequence[str]) -> Request:
        """Return the request for the vectors of these texts."""

    @abstractmethod
    def parse_vectors(self, body: bytes) -> list[Iterable[float]]:
        """Return the vectors in an answer, in the order of the texts. Raises ProtocolError or BadVectors."""

    def adapt(self, error: Rejected) -> bool:
        """Learn from a refusal. Return True when asking again may help."""
        return False


class RemoteEmbedder:
    """An embedder that asks a server. It opens nothing until it is asked.

    `context_tokens` is what the model reads; None: its server is asked for it, once. `reread_key` is called when the
    key in use is refused, and returns the current one. The calls let those on behalf of players go first.
    """

    def __init__(
        self,
        dialect: EmbeddingDialect,
        exchange: HttpExchange,
        pipeline: Pipeline,
        *,
        limits: Limits | None = None,
        upstream: UpstreamConfig | None = None,
        retry: RetryConfig | None = None,
        reread_key: Callable[[], Awaitable[str]] | None = None,
        context_tokens: int | None = None,
        dimensions: int | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> None:
        self.provider = dialect.provider
        self.dimensions = dimensions
        self._dialect = dialect
        self._exchange = exchange
        self._pipeline = pipeline
        self._clock: IReactorTime = pipeline.clock
        self._limits = limits
        self._upstream = upstream
        self._retry = retry or RetryConfig()
        self._reread_key = reread_key
        self._characters = _characters(context_tokens)
        self._seconds = seconds

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.provider.model

    async def embed(self, texts: Sequence[str], caller: Caller = MEMORY) -> list[Vector]:
        """Return the vector of each text, as `Embedder` has it."""
        found: list[Vector] = [()] * len(texts)
        wanted = [(at, text) for at, text in enumerate(texts) if text.strip()]
        if wanted and self._characters is None:
            self._characters = _characters(await self._ask_context()) or MAX_CHARACTERS
        while wanted:
            most = MAX_BATCH if self.dimensions is None else max(1, min(MAX_BATCH, _MAX_NUMBERS // self.dimensions))
            batch, wanted = wanted[:most], wanted[most:]
            try:
                vectors = await self._embed_batch([text[: self._characters] for _, text in batch], caller)
            except BadVectors as error:
                error.provider, error.model = self.provider.name, self.provider.model
                raise
            for (at, _), vector in zip(batch, vectors, strict=True):
                found[at] = vector
        return found

    def stop(self) -> Deferred[None]:
        """Do nothing: the server is somebody else's."""
        return succeed(None)

    async def _embed_batch(self, texts: list[str], caller: Caller) -> list[Vector]:
        """Return the vectors of one batch. What is too long is cut in half; a key that changed is read again."""
        may_reread = self._reread_key is not None
        while True:
            request = self._dialect.build_request(texts)
            try:
                rows = await self._call(request, self._dialect.parse_vectors, caller)
            except ContextOverflow:
                limit = max(map(len, texts)) // 2
                if limit < _LEAST_CHARACTERS:
                    raise
                texts = [text[:limit] for text in texts]
            except BadCredential:
                if not may_reread or not await self._has_new_key():
                    raise
                may_reread = False
            except Rejected as error:
                if not self._dialect.adapt(error):
                    raise
            else:
                return self._checked(rows, len(texts))

    def _checked(self, rows: list[Iterable[float]], texts: int) -> list[Vector]:
        vectors = unit_vectors(rows, texts, self.dimensions)
        self.dimensions = len(vectors[0])
        return vectors

    async def _has_new_key(self) -> bool:
        return self._reread_key is not None and self.provider.give_key(await self._reread_key())

    async def _ask_context(self) -> int | None:
        """Return how many tokens the model reads, as its server says, or None when it does not say."""
        provider, model = self.provider, self.provider.model
        request = provider.model_request(model)
        if request is None:
            return None
        try:
            answer = await self._call(request, lambda body: read_object(body, provider))
        except (Rejected, ProtocolError):
            return None
        return provider.parse_model(model, answer).context_tokens

    async def _call(self, request: Request, parse: Callable[[bytes], T], caller: Caller = MEMORY) -> T:
        """Return what `parse` makes of the body of the answer. Raises LLMError."""
        provider, tokens = self.provider, self.provider.tokens.of_bytes(len(request.body))

        async def make(attempt: Attempt) -> T:
            sink = Collected()
            try:
                await self._exchange.perform(request, _HeardSink(sink, attempt), self._limits)
            except ResilienceError as error:
                raise map_failed_exchange(error, provider) from error
            if sink.status != _OK:
                raise self._refusal(sink)
            attempt.used = Amount(1, tokens)
            return parse(sink.body)

        call = Call(
            CallTarget(origin_of(request.url), provider.credential, provider.model),
            judge=lambda error: verdict_of(error, self._clock.seconds(), self._retry),
            caller=caller,
            estimate=Amount(1, tokens),
            retry=self._retry,
            upstream=self._upstream,
        )
        try:
            return await self._pipeline.call(make, call, Deadline.after(self._clock, self._seconds))
        except ResilienceError as error:
            raise map_unmade_call(error, provider, self._clock.seconds()) from error

    def _refusal(self, sink: Collected) -> LLMError:
        """Return the error of an answer that holds no vectors."""
        provider = self.provider
        error = provider.parse_error_response(sink.status, sink.headers, provider.redact_body(sink.body))
        error.message = provider.redact(error.message)
        if any(words in error.message for words in _NOT_FINITE):
            return BadVectors("the model made a vector with NaN or infinity in it", provider.name, provider.model)
        if sink.status == _NOT_IMPLEMENTED:
            said = f"the server makes no vectors; start it for embeddings (it said: {error.message})"
            return Rejected(said, provider.name, provider.model, sink.status)
        if isinstance(error, ModelNotFound):
            error.message = explain_missing_model(provider, error.message)
        set_retry_at(error, sink.headers, Moment(self._clock.seconds()))
        return error


def _characters(tokens: int | None) -> int | None:
    return None if tokens is None else tokens * _CHARACTERS_PER_TOKEN


# Any: JSON of a server.
def read_object(body: bytes, provider: LLMProvider) -> Mapping[str, Any]:
    """Return the JSON object of an answer. NaN and infinity, which JSON does not have, are read as such.

    Raises ProtocolError.
    """
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
    return require_object(answer, provider)


class _HeardSink:
    """A sink that passes a response on to its reader, and tells the attempt that the server was heard."""

    __slots__ = ("_heard", "_sink")

    def __init__(self, sink: Sink, attempt: Attempt) -> None:
        self._sink = sink
        self._heard = attempt.heard

    def head(self, status: int, headers: Headers) -> None:
        """Pass the status and the headers on."""
        self._heard()
        self._sink.head(status, headers)

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Pass a piece on, and return what its reader does."""
        self._heard()
        return self._sink.data(piece)
