"""What a provider is: one chat API's dialect, as pure functions between our values and its bytes.

A provider opens no connection and keeps no conversation; `llm/client.py` does the asking.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Protocol

import orjson
from twisted.web.http_headers import Headers

from llm.errors import LLMError, Rejected
from llm.fallback_prompt import as_text
from llm.messages import JSON, JSONObject, Message, ToolResult, ToolSpec
from llm.options import CallOptions, ToolChoice
from llm.packed import parts_of
from llm.rate_limits import Moment, read_rate_limits
from llm.response import RateLimitInfo
from llm.stream import StreamEvent
from llm.tokens import TokenEstimator
from llm.ways import Amendment, Way, amend
from resilience import host_of, origin_of

#: Makes the names of keys useless outside this process.
_SALT = secrets.token_bytes(16)


def kept_bytes(encoded: Sequence[bytes]) -> bytes:
    """What orjson gave, joined by commas, in no more memory than it needs.

    orjson's own bytes hold 4 KiB however short they are, and joining a single one gives it back as it is.
    """
    return b"".join((b",".join(encoded), b""))


class StreamParser(Protocol):
    """Turns the bytes of one streamed body into events."""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events these bytes complete. Raises the LLMError that the stream carries."""
        ...

    def end(self) -> list[StreamEvent]:
        """The last events. Raises StreamBroken when the stream had no end mark."""
        ...

    @property
    def complete(self) -> bool:
        """True when the stream's own end mark was seen; nothing after it counts."""
        ...


class LLMProvider(ABC):
    """One chat API. `model` is the model to ask; `api_url` the base URL without a trailing slash."""

    #: The name users choose it by.
    name = ""
    #: Fields of a request that make another try answer differently, as far as this server knows any.
    variety: Mapping[str, JSON] = MappingProxyType({})
    #: The key under which messages keep their encoded bytes.
    dialect = ""
    #: What it is, in one line, for owners who choose.
    about = ""
    #: Whether it is a service on the internet, which needs a key and the name of a model; else a server of the owner's.
    hosted = True
    #: Whether it lists its models without a key, so that its list says nothing of the key.
    lists_without_key = True
    #: Whether it reports what a call cost.
    reports_cost = False
    #: How many requests may be on their way to it at once, unless the owner says otherwise.
    in_flight = 32
    #: The commands that start its server and give it a model, empty for a server without such.
    start_command = ""
    pull_command = ""
    #: The settings that not every provider takes, each with the name of its constructor's option; no name for one
    #: that goes with each call instead.
    settings: Mapping[str, str] = MappingProxyType({})
    #: The constructor's option for the context window, empty where the server is not told of it.
    context_option = ""
    #: The tools it runs itself, by the short names that settings may use.
    server_tools: Mapping[str, JSONObject] = MappingProxyType({})
    #: The public tables of tokens that its models count with or nearly so, the best first; none: by bytes.
    token_tables: tuple[str, ...] = ()
    #: Whether those tables are its own models', or only like them.
    tables_fit = False
    #: How its server can hold an answer to a form: to a JSON Schema, to any JSON object.
    forms: tuple[str, ...] = ("schema", "json")

    def __init__(self, api_url: str, model: str, key: str = "") -> None:
        self.model = model
        self.rebind(api_url, key)
        self.tokens = TokenEstimator()

    def rebind(self, api_url: str, key: str) -> None:
        """Use another address with a key of its own. A key goes to the origin it was given with and to no other."""
        self.api_url = api_url.rstrip("/")
        self._secret = key
        #: The headers of a call, with what they were made for.
        self._made_headers: tuple[tuple[str, str, str], Headers] | None = None
        self._bound_to = origin_of(self.api_url)
        #: A name for the key that gives nothing of it away; empty for none, another for each key and process.
        self.credential = blake2b(key.encode(), key=_SALT, digest_size=6).hexdigest() if key else ""

    def give_key(self, key: str) -> bool:
        """Use this key from now on, for the address that the old one was given with; True when it is another one."""
        if not key or key == self._secret or origin_of(self.get_api_url()) != self._bound_to:
            return False
        self.rebind(self.api_url, key)
        return True

    @property
    def _key(self) -> str:
        """The key for the address in use, empty when it was given for another origin."""
        return self._secret if origin_of(self.get_api_url()) == self._bound_to else ""

    def redacted(self, text: str) -> str:
        """The text without the key, which some servers repeat in their errors."""
        return text.replace(self._secret, "[key]") if self._secret else text

    def redacted_body(self, body: bytes) -> bytes:
        """The same for a body, before an error takes a part of it: half a key could not be found any more."""
        return body.replace(self._secret.encode(), b"[key]") if self._secret else body

    def __repr__(self) -> str:
        """Name and model; never the key."""
        return f"<{self.name} {self.model}>"

    @abstractmethod
    def get_api_url(self) -> str:
        """The URL of the chat endpoint."""

    def get_models_url(self) -> str:
        """The URL that lists the models."""
        return f"{self.api_url}/models"

    def build_headers(self) -> Headers:
        """The request headers, the credential included."""
        headers = {
            "Content-Type": ["application/json"],
            "Accept-Encoding": ["identity"],
            "User-Agent": ["mud-assistant"],
        }
        if self._key:
            headers["Authorization"] = [f"Bearer {self._key}"]
        return Headers(headers)

    def headers_for(self, options: CallOptions) -> Headers:
        """The request headers of one call, not to be changed; for a provider whose options need headers too."""
        return self._once(self.build_headers)

    def _once(self, build: Callable[[], Headers], of: str = "") -> Headers:
        """The headers that `build` gives, kept for the calls that follow with the same address, key, and `of`.

        Host is among them: Twisted would copy all of them for each request to add it.
        """
        key = (self.api_url, self._key, of)
        if self._made_headers is None or self._made_headers[0] != key:
            headers = build()
            headers.setRawHeaders("host", [host_of(self.get_api_url())])
            self._made_headers = (key, headers)
        return self._made_headers[1]

    def build_request(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        tool_choice: ToolChoice | None,
        options: CallOptions,
        *,
        tools_as_text: bool = False,
        amendments: Sequence[Amendment] = (),
    ) -> bytes:
        """The request body. Messages are encoded once and kept; with `tools_as_text` calls and results become text.

        `amendments` are what this model's refusals taught of the request's fields.
        """
        head = amend(self.request_head(tools, tool_choice, options), amendments)
        return self.join_body(head, messages, options, tools_as_text=tools_as_text)

    def join_body(
        self, head: JSONObject, messages: Sequence[Message], options: CallOptions, *, tools_as_text: bool
    ) -> bytes:
        """The request body of its head and its messages."""
        encoded = self._all_encoded(messages, tools_as_text=tools_as_text)
        encoded[:1] = [b"".join((orjson.dumps(head)[:-1], b',"messages":[', *encoded[:1]))]
        encoded[-1] += b"]}"
        return b",".join(encoded)  # the one place where a long history is copied

    @abstractmethod
    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Everything of the request but its messages; never empty."""

    @abstractmethod
    def encode_message(self, message: Message) -> list[JSONObject]:
        """The wire messages one message becomes (several results may be several messages)."""

    @abstractmethod
    def stream_parser(self) -> StreamParser:
        """A parser for one streamed answer."""

    @abstractmethod
    def parse_response(self, body: bytes) -> list[StreamEvent]:
        """The events of an answer that came whole (edge case 50). Raises LLMError for one that is not an answer."""

    def is_whole(self, content_type: str, first: bytes) -> bool:
        """Whether a body is one document and no stream, told by its first byte that is not blank."""
        return first in {b"{", b"[", b"<"}

    def parse_rate_limit_headers(self, headers: Headers, moment: Moment | None = None) -> RateLimitInfo | None:
        """What the headers say of limits, None when nothing. `moment` is when they came; without one, 0 is now."""
        return read_rate_limits(headers, moment or Moment())

    def adapt(self, error: Rejected, way: Way) -> Way | None:
        """The way to ask after this refusal, None when it teaches nothing. Must not give back the same way."""
        return None

    @abstractmethod
    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """The typed error for a response that is not a 200."""

    def count_tokens(self, messages: Sequence[Message] | str) -> int:
        """Count the tokens of messages, or of a text: with a tokenizer where one was loaded, else by bytes.

        Both are corrected by reported usage. Never blocks.
        """
        if isinstance(messages, str):
            return self.tokens.of_text(messages)
        encoded = self._all_encoded(messages, tools_as_text=False)
        return self.tokens.of_pieces(encoded)

    @abstractmethod
    def format_tool_result(self, result: ToolResult) -> JSONObject:
        """The wire message that answers one call."""

    def missing_model(self) -> str:
        """What an owner can do when the server does not have the model, as a part of a sentence."""
        return "choose another model, or have this one enabled for the key"

    def supports_tools(self) -> bool:
        """Whether the API has native tool calls at all; single models may still refuse them."""
        return True

    def supports_schema(self) -> bool:
        """Whether the API can constrain its text to a JSON Schema."""
        return True

    def _all_encoded(self, messages: Sequence[Message], *, tools_as_text: bool) -> list[bytes]:
        """The bytes of the messages, of the packed ones together.

        A long history passes here with every call, so what is known is only looked up.
        """
        key = f"{self.dialect}/text" if tools_as_text else self.dialect

        def encode(message: Message) -> bytes:
            return self._encode_once(message, key, tools_as_text)

        return [
            part.wire.get(key) or encode(part) if isinstance(part, Message) else part.joined(key, encode)
            for part in parts_of(messages)
        ]

    def _encode_once(self, message: Message, key: str, tools_as_text: bool) -> bytes:
        said = as_text(message) if tools_as_text else message
        encoded = kept_bytes([orjson.dumps(wire) for wire in self.encode_message(said)])
        message.wire[key] = encoded
        return encoded
