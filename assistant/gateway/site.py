"""READ FIRST: puts the gateway together, and leads each request to what answers it.

    POST /v1/messages              Anthropic's Messages       GET  /v1/models, /v1/models/NAME
         /v1/messages/count_tokens                            POST /api/chat, /api/generate  Ollama
         /v1/chat/completions      Chat Completions                /api/show
         /v1/completions           the legacy ones            GET  /api/tags, /api/ps, /api/version
         /v1/responses             OpenAI's Responses         GET  /                         "Ollama is running"
         /v1/embeddings            sentence vectors           GET  /healthz, /readyz         for whoever watches it

Each path works without /v1 as well. A request passes the guards of `http/`, then its key is looked at, then its model;
`answering.py` does the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

import orjson
from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.defer import DeferredSemaphore
from twisted.logger import Logger

from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.config.schema import BudgetConfig
from mud_assistant.assistant.gateway.answering import ModelAnswer, ModelRequest
from mud_assistant.assistant.gateway.counting import count_tokens
from mud_assistant.assistant.gateway.embeddings import GatewayEmbeddings
from mud_assistant.assistant.gateway.http.bodies import BodyReader
from mud_assistant.assistant.gateway.http.calls import ClientRequest
from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.assistant.gateway.keys import Admission, KeyRing, limit_headers
from mud_assistant.assistant.gateway.models import GatewayModels
from mud_assistant.assistant.gateway.plain import OPEN_PATHS, send_greeting, send_json
from mud_assistant.assistant.gateway.streaming import Headers
from mud_assistant.assistant.loop.spending import total_account
from mud_assistant.llm import LLMError
from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.completions import CompletionsDialect
from mud_assistant.llm.dialects.dialect import Dialect
from mud_assistant.llm.dialects.failures import Failure, FailureKind, RequestRefused, failure_of, invalid
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.dialects.ollama.dialect import OllamaDialect
from mud_assistant.llm.dialects.ollama.generate import GenerateDialect
from mud_assistant.llm.dialects.responses.dialect import ResponsesDialect
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.request import HOPS_HEADER
from mud_assistant.resilience import Caller, HttpExchange

#: The most gateways that a call may pass.
MAX_HOPS = 3
#: Begins the name under which calls of a key take turns with those of others.
KEY_CALLER = "key:"
_MESSAGES, _CHAT, _RESPONSES, _OLLAMA = MessagesDialect(), ChatDialect(), ResponsesDialect(), OllamaDialect()
#: The dialects by the paths at which a model is asked.
ASKED_AT: Mapping[str, Dialect] = {
    "/messages": _MESSAGES,
    "/chat/completions": _CHAT,
    "/completions": CompletionsDialect(),
    "/responses": _RESPONSES,
    "/api/chat": _OLLAMA,
    "/api/generate": GenerateDialect(),
}
_VECTORS = "/embeddings"
_log = Logger()


class GatewayParts(Struct, frozen=True):
    """What the gateway works with."""

    models: GatewayModels
    vectors: GatewayEmbeddings
    keys: KeyRing
    exchange: HttpExchange
    bodies: BodyReader
    config: GatewayConfig
    budget: BudgetConfig
    #: The reactor, as clock. Any: no single interface of it covers what is needed.
    reactor: Any
    wall: Callable[[], float]
    scrub: Callable[[str], str]
    #: Whether keys and sums can be written, and some model may be asked.
    is_ready: Callable[[], bool]


class Gateway:
    """The handler of every request that has passed the guards."""

    def __init__(self, parts: GatewayParts) -> None:
        self._parts = parts

    async def handle(self, request: ClientRequest, response: ClientResponse) -> None:
        """Answer one request. Raises RequestRefused, which is told to the client. Cancelled when the client leaves."""
        try:
            await self._route(request, response)
        except LLMError as error:
            _log.warn("{id}: {why}", log_event="gateway", id=request.id, why=self._parts.scrub(str(error)))
            failure = failure_of(error, self._parts.reactor.seconds())
            raise RequestRefused(replace(failure, message=self._parts.scrub(failure.message))) from None

    def refuse(self, path: str, headers: Mapping[str, str], failure: Failure) -> tuple[int, Headers, bytes]:
        """Return the status, the headers and the body that tell why a request is not answered."""
        status, body = dialect_of(path, headers).error_body(failure)
        encoded = orjson.dumps(body)
        told = [(b"content-type", b"application/json"), (b"content-length", str(len(encoded)).encode())]
        if failure.retry_after is not None:
            told.append((b"retry-after", str(max(1, round(failure.retry_after))).encode()))
        if not failure.should_retry:
            told.append((b"x-should-retry", b"false"))
        return status, told, encoded

    async def _route(self, request: ClientRequest, response: ClientResponse) -> None:
        path, method = short(request.path), request.method
        if path in OPEN_PATHS and method in {"GET", "HEAD"}:
            send_greeting(path, response, is_ready=self._parts.is_ready())
        elif path in ASKED_AT and method == "POST":
            await self._ask(ASKED_AT[path], request, response)
        elif path == "/messages/count_tokens" and method == "POST":
            await self._with_model(_MESSAGES, request, response, partial(self._count, response))
        elif path == _VECTORS and method == "POST":
            await self._make_vectors(request, response)
        elif path in {*ASKED_AT, "/messages/count_tokens", _VECTORS}:
            raise RequestRefused(Failure(FailureKind.METHOD, "send it as POST", should_retry=False))
        elif method in {"GET", "HEAD"} or path == "/api/show":
            await self._describe(path, request, response)
        else:
            raise _nothing_at(request.path)

    async def _ask(self, dialect: Dialect, request: ClientRequest, response: ClientResponse) -> None:
        """Answer a request for a model."""

        async def answer(asked: ModelRequest) -> None:
            if isinstance(dialect, GenerateDialect) and (loaded := dialect.loaded(asked.parsed, asked.created)):
                send_json(response, loaded, asked.more_headers)
                return
            chain = await self._parts.models.chain(asked.offered)
            async with _Place(asked.offered.places):
                parts = self._parts
                answering = ModelAnswer(
                    asked, response, chain, parts.reactor, scrub=parts.scrub, exchange=parts.exchange
                )
                began = self._parts.reactor.seconds()
                try:
                    await answering.answer(self._parts.config.call_seconds)
                finally:
                    seconds = self._parts.reactor.seconds() - began
                    _log.info(
                        "{id}: {model} for {who}, {way}, {seconds:.2f} s", log_event="gateway", id=request.id,
                        who=asked.caller.name, seconds=seconds, **answering.summary,
                    )  # fmt: skip

        await self._with_model(dialect, request, response, answer)

    async def _with_model(
        self,
        dialect: Dialect,
        request: ClientRequest,
        response: ClientResponse,
        work: Callable[[ModelRequest], Awaitable[None]],
    ) -> None:
        """Admit the request, find its model, and do the work. The place of the key is given back at the end."""
        parts = self._parts
        hops = _hops(request.headers)
        parsed = await parts.bodies.json(request.body)
        model = parsed.get("model")
        if not isinstance(model, str) or not model:
            raise invalid("model is missing: name one of those that GET /v1/models lists", "model")
        admission = parts.keys.admit(request.credential, "", request.address)
        try:
            offered = parts.models.find(model, admission.may_use)
            caller, limits = self._caller(admission), _limits(admission, dialect)
            await work(
                ModelRequest(
                    request.id,
                    dialect,
                    request.body,
                    parsed,
                    request.headers,
                    offered,
                    caller,
                    int(parts.wall()),
                    hops,
                    admission,
                    frozenset(parts.config.forwarded_fields),
                    limits,
                )
            )
        finally:
            admission.release()

    def _caller(self, admission: Admission) -> Caller:
        """Return on whose behalf a request is made, and who pays for it."""
        accounts = (total_account(self._parts.budget), *admission.accounts)
        return Caller(f"{KEY_CALLER}{admission.name}", is_urgent=False, accounts=accounts)

    async def _make_vectors(self, request: ClientRequest, response: ClientResponse) -> None:
        """Answer with sentence vectors."""
        parts = self._parts
        parsed = await parts.bodies.json(request.body)
        admission = parts.keys.admit(request.credential, "", request.address)
        try:
            body = await parts.vectors.answer(parsed, self._caller(admission), admission.may_use)
        finally:
            admission.release()
        send_json(response, body, _limits(admission, _CHAT))

    async def _count(self, response: ClientResponse, asked: ModelRequest) -> None:
        """Answer how many tokens a request has."""
        chain = await self._parts.models.chain(asked.offered)
        tokens = await count_tokens(asked, chain.links[0].client, self._parts.exchange)
        send_json(response, {"input_tokens": tokens}, asked.more_headers)

    async def _describe(self, path: str, request: ClientRequest, response: ClientResponse) -> None:
        """Answer a question about the models there are."""
        parts = self._parts
        admission = parts.keys.admit(request.credential, "", request.address)
        try:
            body = await self._description(path, request, admission)
        finally:
            admission.release()
        send_json(response, body)

    async def _description(self, path: str, request: ClientRequest, admission: Admission) -> JSONObject:
        models, allowed = self._parts.models, admission.may_use
        dialect = dialect_of(request.path, request.headers)
        if path == "/models":
            vectors = self._parts.vectors.offered(allowed) if dialect is _CHAT else []
            return dialect.models_body([*models.offered(allowed), *vectors])
        if path.startswith("/models/"):
            return dialect.model_body(models.described(unquote(path.removeprefix("/models/")), allowed))
        if path == "/api/tags":
            return _OLLAMA.models_body(models.offered(allowed))
        if path == "/api/ps":
            return {"models": []}
        if path == "/api/show" and request.method == "POST":
            parsed = await self._parts.bodies.json(request.body)
            name = parsed.get("model") or parsed.get("name")
            return _OLLAMA.model_body(models.described(str(name or ""), allowed))
        raise _nothing_at(request.path)


def short(path: str) -> str:
    """Return the path without the /v1 that clients may leave out."""
    return path.removeprefix("/v1") if path == "/v1" or path.startswith("/v1/") else path


def dialect_of(path: str, headers: Mapping[str, str]) -> Dialect:
    """Return the dialect in which a client at this path reads."""
    path = short(path)
    if path in ASKED_AT:
        return ASKED_AT[path]
    if path.startswith("/api/"):
        return _OLLAMA
    return _MESSAGES if path.startswith("/messages") or "anthropic-version" in headers else _CHAT


def _hops(headers: Mapping[str, str]) -> int:
    """Return how many gateways a request has passed, this one included. Raises RequestRefused for too many."""
    said = headers.get(HOPS_HEADER, "0")
    hops = int(said) + 1 if said.isascii() and said.isdigit() and len(said) <= len(str(MAX_HOPS)) else MAX_HOPS + 1
    if hops > MAX_HOPS:
        raise invalid(f"this call has passed {MAX_HOPS} gateways: does one of them ask itself?", HOPS_HEADER)
    return hops


def _limits(admission: Admission, dialect: Dialect) -> Headers:
    """Return the headers that say what the key has left."""
    return [(name.encode(), value.encode()) for name, value in limit_headers(admission, dialect.name)]


def _nothing_at(path: str) -> RequestRefused:
    asked_at = ", ".join(known if known.startswith("/api/") else f"/v1{known}" for known in (*ASKED_AT, _VECTORS))
    said = f"there is nothing at {path[:200]}; clients ask at {asked_at}"
    return RequestRefused(Failure(FailureKind.NOT_FOUND, said, should_retry=False))


class _Place:
    """A place among the calls that may be under way to one server. Cancelling ends the waiting."""

    def __init__(self, places: DeferredSemaphore) -> None:
        self._places = places

    async def __aenter__(self) -> None:
        await self._places.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()
