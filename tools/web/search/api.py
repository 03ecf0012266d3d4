"""Makes JSON calls to a provider's API: bounded, with its key in a header, every failure a WebError with a kind.

The key is sent only to the origin of the base URL: calls are made by path, and a redirect is an error, not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlencode, urlsplit

import orjson
from msgspec import Struct
from pydantic import BaseModel, ConfigDict
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.web.http_headers import Headers

from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import BodyTooLarge, ConnectFailed, DeadlineExceeded, ResilienceError, TimedOut
from mud_assistant.resilience.http.request import Collected, Exchange, Limits, Request
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.search.refusals import Refusal, refusal_of

MAX_BODY_BYTES = 1_000_000
#: An error is explained at its beginning; the rest of an error page is not read.
MAX_ERROR_BYTES = 16 * 1024
CALL_SECONDS = 15.0
LIMITS = Limits(
    first_byte_seconds=CALL_SECONDS,
    idle_seconds=CALL_SECONDS,
    max_body_bytes=MAX_BODY_BYTES,
    progress_seconds=CALL_SECONDS,
)
_OK, _REDIRECT, _ERROR = 200, 300, 400


class ProviderOptions(BaseModel):
    """What an operator may set for one provider beside its key and its address. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Shared(Struct, frozen=True):
    """The parts that all providers of a process share: one exchange with its connections, and the reactor as clock."""

    exchange: Exchange
    clock: IReactorTime


@dataclass(frozen=True)
class ApiReply:
    """An API's answer. `at` is when it came, in clock seconds."""

    status: int
    headers: Headers
    body: bytes
    at: float

    def header(self, name: str) -> str:
        """Return a header's last value, empty when there is none."""
        values = self.headers.getRawHeaders(name) or [""]
        return values[-1]

    @cached_property
    def record(self) -> JSONObject:
        """The body as a JSON object; empty when it is none."""
        try:
            read = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        return read if isinstance(read, dict) else {}


#: Reads the refusal out of an answer with an error status.
Explain = Callable[[ApiReply], Refusal]


@dataclass(frozen=True, slots=True)
class Api:
    """A provider's API below `base_url`. `headers` may hold its key; `secrets` never occur in a message.

    `explain` reads the errors of a service that has its own shapes. `seconds` is the time for a whole call, `limits`
    are the limits of its phases.
    """

    shared: Shared
    provider: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    explain: Explain = refusal_of
    seconds: float = CALL_SECONDS
    limits: Limits = LIMITS

    def __post_init__(self) -> None:
        """Refuse a base URL that could send the key elsewhere, and a key that no header can hold.

        Raises ValueError.
        """
        try:
            parts = urlsplit(self.base_url)
            is_plain = bool(parts.hostname) and not (parts.username or parts.password or parts.query or parts.fragment)
            _ = parts.port
        except ValueError:
            is_plain = False
        else:
            is_plain = is_plain and parts.scheme in {"http", "https"} and self.base_url.isascii()
        if not is_plain or any(sign.isspace() or not sign.isprintable() for sign in self.base_url):
            raise ValueError(f"{self.provider}: its address is http(s)://host[:port][/path] and nothing else")
        if any(not (key.isascii() and key.isprintable()) for key in self.headers.values()):
            raise ValueError(f"{self.provider}: its key holds characters that no key has")

    async def get(self, path: str, parameters: Mapping[str, str]) -> ApiReply:
        """Return the answer to a GET with these parameters. Raises WebError."""
        return await self._call("GET", f"{self._url(path)}?{urlencode(parameters, errors='replace')}")

    async def post(self, path: str, record: JSONObject) -> ApiReply:
        """Return the answer to a JSON record. Raises WebError."""
        return await self._call("POST", self._url(path), encode_record(record))

    def list_of(self, reply: ApiReply, name: str) -> list[object]:
        """Return the list that a good answer has under `name`. Raises WebError when there is none."""
        found = reply.record.get(name)
        if isinstance(found, list):
            return found
        raise self.error(ErrorKind.PARSE, f"answered without a list of {name}")

    def error(self, kind: ErrorKind, message: str, retry_at: float | None = None) -> WebError:
        """Return a WebError of this provider, its message without keys."""
        for secret in filter(None, self.secrets):
            message = message.replace(secret, "[key]")
        return WebError(kind, f"{self.provider} {message}", provider=self.provider, retry_at=retry_at)

    def _url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"

    async def _call(self, method: str, url: str, body: bytes = b"") -> ApiReply:
        headers = Headers({name: [value] for name, value in self.headers.items()})
        headers.setRawHeaders("Accept", ["application/json"])
        if body:
            headers.setRawHeaders("Content-Type", ["application/json"])
        sink = _Answer()
        sending = self.shared.exchange.perform(Request(method, url, headers, body), sink, self.limits)
        try:
            await Deadline.after(self.shared.clock, self.seconds).bound(Deferred.fromCoroutine(sending))
        except ResilienceError as error:
            # An error status says more than the reason why the rest of its page did not arrive.
            if sink.status < _ERROR:
                raise self._failure(error) from error
        return self._check(ApiReply(sink.status, sink.headers, sink.body, self.shared.clock.seconds()))

    def _failure(self, error: ResilienceError) -> WebError:
        match error:
            case TimedOut() | DeadlineExceeded():
                return self.error(ErrorKind.TIMEOUT, f"did not answer within {self.seconds:g} s")
            case BodyTooLarge():
                return self.error(ErrorKind.PARSE, f"answered more than {self.limits.max_body_bytes} bytes")
            case ConnectFailed():
                return self.error(ErrorKind.NETWORK, f"could not be reached: {error}")
            case _:
                return self.error(ErrorKind.NETWORK, f"broke off: {error}")

    def _check(self, reply: ApiReply) -> ApiReply:
        if _REDIRECT <= reply.status < _ERROR:
            message = f"answered with a redirect ({reply.status}), which is not followed; check its address"
            raise self.error(ErrorKind.SERVER, message)
        if reply.status != _OK:
            refusal = self.explain(reply)
            raise self.error(refusal.kind, refusal.message, refusal.retry_at)
        if not reply.record:
            raise self.error(ErrorKind.PARSE, "answered what is no JSON object")
        return reply


class _Answer(Collected):
    """Keeps a whole good answer, or the beginning of an error."""

    def __init__(self) -> None:
        super().__init__()
        self._size = 0

    def data(self, piece: bytes) -> bool:
        """Keep the piece; return True when enough of an error has come to explain it."""
        self._size += len(piece)
        super().data(piece)
        return self.status >= _ERROR and self._size >= MAX_ERROR_BYTES


def encode_record(record: Mapping[str, JSON]) -> bytes:
    """Return the record as JSON. Half a surrogate pair, which a model can write and JSON cannot hold, becomes `?`."""
    try:
        return orjson.dumps(record)
    except orjson.JSONEncodeError:
        return orjson.dumps({name: _whole(value) for name, value in record.items()})


def _whole(value: JSON) -> JSON:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
