"""Passes a request of some other program on to a server of the same dialect: as it was sent, but for three edits.

The edits are the model's name, the credential, and what this model's refusals have taught. Everything else goes through
as bytes, in both directions, so that nothing is lost that we do not know. The call still goes through the pipeline:
admission, budget, circuit, and retries until the first byte of the answer was handed on. What passes is read along for
its usage and its errors, and is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson
from msgspec import Raw, Struct, field
from msgspec.json import Decoder
from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers

from mud_assistant.llm.answer import HTTP_OK, AnswerSink
from mud_assistant.llm.client import UnifiedLLMClient
from mud_assistant.llm.dialects.images import images_in_body
from mud_assistant.llm.errors import BadCredential, LLMError, ToolsUnsupported
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.modes.mode import FieldOverride, RequestMode, apply_overrides, learn_from
from mud_assistant.llm.other_form import ReadAnswer, is_document, new_answer, read_answer, read_whole
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import IMAGE_TOKENS
from mud_assistant.llm.response import Usage
from mud_assistant.llm.sending import DEFAULT_ANSWER_TOKENS
from mud_assistant.llm.wire.accumulate import Accumulator, UsageReader
from mud_assistant.resilience import Caller, Deadline, Request

#: A shorter request may have images too, but none that tells in its tokens.
_MANY_BYTES = 16 * 1024
#: The headers of a client that go along. Everything else is between the client and the gateway.
_PASSED = frozenset({"anthropic-version", "openai-beta", "x-session-affinity"})
#: Headers that are lists: what the client asks for is added to what the provider asks for anyway.
_JOINED = frozenset({"anthropic-beta"})
#: Reads the members of an object, each value as the bytes that were sent.
_MEMBERS = Decoder(dict[str, Raw])
#: What stands before the value of a member: the brace or the comma, and the name in whatever escapes.
_BEFORE_VALUE = re.compile(rb'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
#: Takes a piece of a stream, as it came. Returns a Deferred that fires when more may come, or None for at once.
HandOn = Callable[[bytes], Deferred[None] | None]


class NotForwardable(Exception):
    """This model takes no tools itself: the request must be translated, so that calls can be asked for as text."""


class RawRequest(Struct, frozen=True):
    """A request as a client sent it. `parsed` is its body, read; `headers` have names in lower case.

    `more_headers` are the gateway's own.
    """

    body: bytes
    parsed: JSONObject
    headers: Mapping[str, str]
    more_headers: Mapping[str, str] = field(default_factory=dict)


class ForwardedAnswer(Struct, frozen=True):
    """An answer that was passed on. `body` is the whole of it, None when it was handed on as a stream.

    `read` is set instead when it came in another form than was asked for, and must be rendered anew.
    """

    body: bytes | None
    usage: Usage
    headers: Headers
    read: ReadAnswer | None = None
    #: The fields of the request that were changed, because the model refused them before.
    amended: tuple[str, ...] = ()


async def forward(
    client: UnifiedLLMClient, raw: RawRequest, hand_on: HandOn | None, *, caller: Caller, deadline: Deadline
) -> ForwardedAnswer:
    """Send the request to the client's server, and hand a streamed answer on as it comes.

    Without `hand_on` the answer is returned whole. A server that streams it all the same, or sends it whole although
    a stream was asked for, is read. Raises LLMError; after something was handed on, with `should_retry` False. Raises
    NotForwardable when the model takes no tools itself. Cancelling closes the connection.
    """
    return await _Forwarding(client, raw, hand_on, caller, deadline).answer()


class _Forwarding:
    """One request on its way."""

    def __init__(
        self, client: UnifiedLLMClient, raw: RawRequest, hand_on: HandOn | None, caller: Caller, deadline: Deadline
    ) -> None:
        self._client = client
        self._raw = raw
        self._hand_on = hand_on
        self._caller = caller
        self._deadline = deadline
        self._sink: ForwardingSink | None = None

    async def answer(self) -> ForwardedAnswer:
        """Ask, learn from a refusal that teaches something, and ask again."""
        client, reread = self._client, False
        record, offers = client.record, bool(self._raw.parsed.get("tools"))
        mode = RequestMode(native=offers, as_text=False, schema=True, thinks=True, overrides=record.overrides)
        while True:
            if offers and (record.as_text or not client.provider.supports_tools()):
                raise NotForwardable
            try:
                return await self._once(mode.overrides)
            except BadCredential:
                if reread or not await client.has_new_key():
                    raise
                reread = True
            except LLMError as error:
                if self._was_handed_on:
                    raise
                better = learn_from(error, mode, record, client.provider)
                if isinstance(error, ToolsUnsupported) and better is not None:
                    raise NotForwardable from error
                if better is None or better.overrides == mode.overrides:
                    raise
                mode = better

    @property
    def _was_handed_on(self) -> bool:
        return self._sink is not None and self._sink.was_acted_upon

    async def _once(self, overrides: tuple[FieldOverride, ...]) -> ForwardedAnswer:
        client, parsed = self._client, self._raw.parsed
        provider = client.provider
        body, amended = amended_body(self._raw.body, parsed, provider.model, overrides)
        headers = headers_of(provider, self._raw.headers, self._raw.more_headers)
        request = Request("POST", provider.get_api_url(), headers, body)
        images, size = images_in_body(parsed) if len(body) > _MANY_BYTES else (0, 0)
        estimator = provider.tokens
        tokens = IMAGE_TOKENS * images + (
            estimator.of_bytes(len(body) - size) if images else estimator.of_request(body)
        )
        result = await client.sender.send(
            provider, request, self._new_sink, (tokens, _most(parsed)), caller=self._caller, deadline=self._deadline
        )
        assert self._sink is not None
        self._sink.finish()
        if not images:
            estimator.learn(len(body), result.answer.usage.input_tokens)
        sink, read = self._sink, self._sink.in_other_form()
        whole = None if read else sink.whole_body
        return ForwardedAnswer(whole, result.answer.usage, sink.headers, read, amended)

    def _new_sink(self) -> ForwardingSink:
        self._sink = ForwardingSink(self._client, self._hand_on, self._deadline.renew)
        return self._sink


def headers_of(provider: LLMProvider, client_headers: Mapping[str, str], more: Mapping[str, str]) -> Headers:
    """Return the provider's headers, with those of the client that go along, and `more`."""
    headers = provider.build_headers().copy()
    for name, value in client_headers.items():
        if name in _JOINED:
            own = ",".join(headers.getRawHeaders(name, []))
            wanted = dict.fromkeys(part.strip() for part in f"{own},{value}".split(",") if part.strip())
            headers.setRawHeaders(name, [",".join(wanted)])
        elif name in _PASSED:
            headers.setRawHeaders(name, [value])
    for name, value in more.items():
        headers.setRawHeaders(name, [value])
    return headers


class ForwardingSink(AnswerSink):
    """A reader that hands a stream on as it comes, and reads along. A whole body is kept instead, in `whole_body`.

    Without `hand_on` a stream is collected: the client did not ask for one.
    """

    def __init__(self, client: UnifiedLLMClient, hand_on: HandOn | None, on_progress: Callable[[], None]) -> None:
        super().__init__(
            client.provider, (), str, None, clock=client.sender.clock, progress_seconds=client.sender.progress_seconds,
            on_progress=on_progress,
        )  # fmt: skip
        self.accumulator: Accumulator = new_answer() if hand_on is None else UsageReader()
        self._hand_on = hand_on
        self._is_handed_on = False
        self._redactor = client.provider.redactor()

    @property
    def was_acted_upon(self) -> bool:
        """Whether anything was handed on: it cannot be taken back."""
        return self._is_handed_on

    @property
    def whole_body(self) -> bytes | None:
        """The body that came whole, None for a stream."""
        return None if self._whole is None else self._provider.redact_body(b"".join(self._whole))

    def in_other_form(self) -> ReadAnswer | None:
        """Return the answer when it came in another form than was asked for. Raises LLMError for what is none."""
        body = None if self._whole is None else b"".join(self._whole)
        if self._hand_on is not None:
            return None if body is None else read_whole(body, self._provider)
        return None if body is not None and is_document(body) else read_answer(self.accumulator, self._provider)

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Read along and hand the piece on. What is nothing but an error is not handed on."""
        ended = super().data(piece)
        assert isinstance(ended, bool)  # there is no listener to wait for
        if (
            self._hand_on is None
            or self._whole is not None
            or self.status != HTTP_OK
            or (ended and not self._is_handed_on and not self._decoded)
        ):
            return ended
        self._is_handed_on = True
        waits = self._hand_on(self._redactor.feed(piece))
        return ended if waits is None else waits.addCallback(lambda _: ended)

    def finish(self) -> None:
        """Hand on what was held of a stream that is whole: it might have begun a key."""
        if self._hand_on is not None and (rest := self._redactor.rest()):
            self._hand_on(rest)


def amended_body(
    body: bytes, parsed: JSONObject, model: str, overrides: tuple[FieldOverride, ...]
) -> tuple[bytes, tuple[str, ...]]:
    """Return the body with the model's name and the overrides, and the fields that the overrides changed.

    Without overrides that apply, every byte but those of the name is as it was.
    """
    changed = apply_overrides(parsed, overrides) if overrides else parsed
    if amended := amended_fields(parsed, overrides):
        return orjson.dumps({**changed, "model": model} if model else changed), amended
    if not model or parsed.get("model") == model:
        return body, ()
    return _with_model(body, parsed, model), ()


def amended_fields(parsed: JSONObject, overrides: tuple[FieldOverride, ...]) -> tuple[str, ...]:
    """Return the fields of a request that the overrides change, in order."""
    if not overrides:
        return ()
    changed = apply_overrides(parsed, overrides)
    return tuple(name for name in {**parsed, **changed} if parsed.get(name) != changed.get(name))


def _with_model(body: bytes, parsed: JSONObject, model: str) -> bytes:
    """Return the body with another value of its member `model`, which is found by reading all members before it.

    A name may be written with escapes, and objects further in may have a member of the same name. No name may stand
    twice in the body, as `strict_json` sees to; what cannot be followed is written anew from what was read.
    """
    at = 0
    for name, value in _MEMBERS.decode(body).items():
        before = _BEFORE_VALUE.match(body, at)
        if before is None or orjson.loads(before.group(1)) != name:
            break
        at = before.end() + memoryview(value).nbytes
        if name == "model" and body[before.end() : at] == bytes(value):
            return b"".join((body[: before.end()], orjson.dumps(model), body[at:]))
    return orjson.dumps({**parsed, "model": model})


def _most(parsed: JSONObject) -> int:
    """Return the most tokens that the answers may have together, as the request says."""
    options = parsed.get("options")
    asked = options.get("num_predict") if isinstance(options, Mapping) else None
    for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        asked = parsed.get(name) or asked
    most, answers = (asked if isinstance(asked, int) and asked > 0 else DEFAULT_ANSWER_TOKENS), parsed.get("n")
    return most * answers if isinstance(answers, int) and answers > 1 else most
