"""Answers one request for a model, in the dialect of the client: forwarded where the provider speaks the same one.

    same dialect on both sides     forwarded     the client's bytes, with three edits; see `llm/forwarding.py`
    any other                      translated    read into neutral values, asked, and rendered again

Each model of a chain is asked in the way that fits it, and the next one only while the client has nothing of an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, structs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.gateway.answer_headers import AMENDED_HEADER, FALLBACK_HEADER, cost_headers, model_headers
from mud_assistant.assistant.gateway.asking import check_turns, options_of, was_told
from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.assistant.gateway.keys import Admission
from mud_assistant.assistant.gateway.models import OfferedChain
from mud_assistant.assistant.gateway.sight import check_sight, must_look
from mud_assistant.assistant.gateway.streaming import HTTP_OK, AnswerStream, Headers, RenderingListener
from mud_assistant.llm import Link, LLMError, ModelChain
from mud_assistant.llm.client import UnifiedLLMClient
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect
from mud_assistant.llm.dialects.failures import RequestRefused, failure_of
from mud_assistant.llm.dialects.images import estimated_tokens, images_in
from mud_assistant.llm.dialects.passing import Passing
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.forwarding import NotForwardable, RawRequest, amended_fields, forward
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.other_form import ReadAnswer
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import HOPS_HEADER
from mud_assistant.llm.response import Usage
from mud_assistant.resilience import Caller, Deadline, HttpExchange

_JSON = b"application/json"


class ModelRequest(Struct, frozen=True):
    """A request for an answer of a model. `hops` are the gateways it has passed, this one included."""

    id: str
    dialect: Dialect
    body: bytes
    parsed: JSONObject
    headers: Mapping[str, str]
    offered: OfferedChain
    caller: Caller
    created: int
    hops: int = 1
    #: For whom it is answered, and the fields that the owner lets pass besides the harmless ones.
    admission: Admission | None = None
    passed_fields: frozenset[str] = frozenset()
    #: Headers of the response: the request's id, and the state of the client's key.
    more_headers: Headers = ()

    @property
    def answer_id(self) -> str:
        """The id of the answer, to which each dialect adds a prefix of its own."""
        return self.id.removeprefix("req_")

    def check_passing(self, provider: LLMProvider) -> None:
        """Raise RequestRefused for what is not passed on to this provider."""
        knows = self.admission.knows if self.admission is not None else lambda _: False
        Passing(self.passed_fields, not provider.is_at_vendor, knows).check(self.dialect.name, self.parsed)

    @property
    def streams(self) -> bool:
        """Whether the client wants a stream."""
        return self.dialect.wants_stream(self.parsed)


class ModelAnswer:
    """The answer to one request. `answer` is called once."""

    def __init__(
        self,
        request: ModelRequest,
        response: ClientResponse,
        chain: ModelChain,
        clock: IReactorTime,
        *,
        scrub: Callable[[str], str],
        exchange: HttpExchange,
    ) -> None:
        """Prepare to answer. `scrub` takes keys out of what is said of a failure."""
        self._request = request
        self._response = response
        self._chain = chain
        self._clock = clock
        self._scrub = scrub
        self._exchange = exchange
        self._asked: AskedCall | None = None
        self._way = ""
        self._client: UnifiedLLMClient | None = None
        self._fallback = 0
        self._usage = Usage()
        self._stream: AnswerStream | None = None
        self._renderer: AnswerRenderer | None = None
        #: Whether the client has a part of the answer itself, after which no other model is asked.
        self._has_part = False

    async def answer(self, seconds: float) -> None:
        """Ask the models and send the answer. `seconds` is how long nothing may come.

        Raises LLMError and RequestRefused while the client has nothing yet: it then gets a status of its own. An error
        after that is told in the stream. Cancelling closes the connection to the provider.
        """
        deadline = Deadline.after(self._clock, seconds, seconds * 10)
        try:
            await self._chain.first(self._ask, deadline, lambda: self._has_part)
        except (LLMError, RequestRefused) as error:
            if self._stream is None or not self._stream.has_begun:
                raise
            self._fail(error)
        finally:
            if self._stream is not None:
                self._stream.stop()

    @property
    def summary(self) -> Mapping[str, Any]:
        """Return what the log says of the answer, without any of its words."""
        return {
            "way": self._way,
            "model": self._request.offered.name,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            "amended": self._amended,
        }

    async def _ask(self, link: Link, share: Deadline) -> None:
        """Ask one model of the chain, in the way that fits it."""
        client = self._client = link.client
        self._fallback = self._chain.links.index(link)
        is_opened = self._stream is not None and self._stream.is_opened  # for a model that was translated
        if client.provider.name in self._request.dialect.providers and not is_opened:
            try:
                await self._forward(client, share)
            except NotForwardable:
                pass
            else:
                return
        await self._translate(link, share)

    async def _forward(self, client: UnifiedLLMClient, deadline: Deadline) -> None:
        request = self._request
        request.check_passing(client.provider)
        self._way = "forwarded"
        if must_look(client, request.parsed):
            await check_sight(client, self._exchange)
        keeps_answers = request.admission is not None and request.dialect.name == "responses"
        ids = request.admission.answer_ids() if request.admission is not None and keeps_answers else None
        raw = RawRequest(request.body, request.parsed, request.headers, {HOPS_HEADER: str(request.hops)})
        stream = self._open_raw() if request.streams else None

        def hand_on(piece: bytes) -> Deferred[None] | None:
            self._has_part = True
            assert stream is not None
            assert self._renderer is not None
            self._renderer.passed(piece)
            if ids is not None:
                ids.feed(piece)
            return stream.write(piece)

        answer = await forward(
            client, raw, None if stream is None else hand_on, caller=request.caller, deadline=deadline
        )
        self._usage = answer.usage
        if ids is not None and answer.body is not None:
            ids.whole(answer.body)
        if answer.read is not None:
            self._send_anew(answer.read, client.provider, stream)
        elif stream is not None:
            stream.finish()
        else:
            self._send_whole(answer.body or b"")

    def _send_anew(self, answer: ReadAnswer, provider: LLMProvider, stream: AnswerStream | None) -> None:
        """Send an answer in the form that the client wants: the server sent it in the other one."""
        renderer, response = self._renderer_of(self._asked_or_raw(), 0), answer.response
        if stream is None:
            self._send_whole(provider.redact_body(renderer.whole(response)))
            return
        pieces = [renderer.begin(), *map(renderer.feed, answer.events), renderer.finish(response)]
        stream.finish(provider.redact_body(b"".join(pieces)))

    def _asked_or_raw(self) -> AskedCall:
        """Return the request as it was read, or the little that is known of one which cannot be translated."""
        request = self._request
        try:
            return request.dialect.read(request.parsed, request.headers)
        except RequestRefused:
            return AskedCall(request.offered.name, request.streams, (), body=request.parsed)

    async def _translate(self, link: Link, deadline: Deadline) -> None:
        request = self._request
        self._way = "translated"
        asked = self._asked = self._asked or request.dialect.read(request.parsed, request.headers)
        check_turns(asked.messages, link.client.provider)
        images = images_in(asked.messages)
        if images[0]:
            await check_sight(link.client, self._exchange)
        renderer, stream = self._open_rendered(asked, link.client.provider)
        listener = None if stream is None else RenderingListener(renderer, stream)
        try:
            response = await link.client.chat_completion(
                asked.messages,
                asked.tools,
                asked.tool_choice,
                deadline=deadline,
                caller=request.caller,
                listener=listener,
                **options_of(link.options, asked.options, request.hops, images),
            )
        finally:
            self._has_part = renderer.has_content
        self._usage = response.usage
        if stream is not None:
            stream.finish(renderer.finish(response))
        else:
            self._send_whole(renderer.whole(response))

    def _open_raw(self) -> AnswerStream:
        """Prepare a stream that comes from the provider as it is. Only signs of life and an error are rendered."""
        asked = AskedCall(self._request.offered.name, True, (), body=self._request.parsed)
        renderer = self._renderer = self._renderer_of(asked, 0)
        self._stream = self._stream_of(renderer.ping, bytes)
        return self._stream

    def _open_rendered(self, asked: AskedCall, provider: LLMProvider) -> tuple[AnswerRenderer, AnswerStream | None]:
        """Prepare an answer that is rendered here, and its stream if the client wants one.

        A stream that was opened, with a sign of life while a model before this one was asked, goes on.
        """
        if self._renderer is not None and self._stream is not None and self._stream.is_opened:
            return self._renderer, self._stream
        renderer = self._renderer = self._renderer_of(asked, estimated_tokens(asked.messages, provider.count_tokens))
        stream = self._stream = self._stream_of(renderer.ping, renderer.begin) if asked.streams else None
        return renderer, stream

    def _renderer_of(self, asked: AskedCall, input_tokens: int) -> AnswerRenderer:
        head = AnswerHead(self._request.answer_id, self._request.created, input_tokens)
        return self._request.dialect.renderer(asked, head)

    def _stream_of(self, ping: Callable[[], bytes], opening: Callable[[], bytes]) -> AnswerStream:
        if self._stream is not None:
            self._stream.stop()
        return AnswerStream(self._response, self._clock, self._stream_headers, ping, opening)

    def _fail(self, error: LLMError | RequestRefused) -> None:
        """End a stream that has begun with the error, unless the provider has said in it what is wrong."""
        assert self._stream is not None
        assert self._renderer is not None
        if self._way == "forwarded" and self._has_part and was_told(error):
            self._stream.finish()
            return
        failure = error.failure if isinstance(error, RequestRefused) else failure_of(error, self._clock.seconds())
        failure = structs.replace(failure, message=self._scrub(failure.message))
        opening = b"" if self._has_part or self._stream.is_opened else self._renderer.begin()
        self._stream.fail(opening + self._renderer.fail(failure), self._request.dialect.between_events)

    def _send_whole(self, body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        cost = cost_headers(self._client, self._usage)
        self._response.start(HTTP_OK, [(b"content-type", _JSON), length, *self._answer_headers(), *cost])
        self._response.write(body)
        self._response.finish()

    def _stream_headers(self) -> Headers:
        stream_type = (b"content-type", self._request.dialect.stream_type)
        return [stream_type, (b"cache-control", b"no-cache"), *self._answer_headers()]

    def _answer_headers(self) -> Headers:
        """Return what is known before an answer: the state of the key, and who answers. A ping may come before that."""
        headers = [*self._request.more_headers, *model_headers(self._client)]
        if self._fallback:
            headers.append((FALLBACK_HEADER, str(self._fallback).encode()))
        if amended := self._amended:
            headers.append((AMENDED_HEADER, amended.encode()))
        return headers

    @property
    def _amended(self) -> str:
        """The fields of the request that were changed, because the model is known to refuse them."""
        overrides = self._client.record.overrides if self._client is not None else ()
        return ",".join(amended_fields(self._request.parsed, overrides))
