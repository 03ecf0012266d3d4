"""What a provider is: one chat API's dialect, as pure functions between our values and its bytes.

A provider opens no connection and keeps no conversation; `llm/client.py` sends the requests.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, Rejected
from mud_assistant.llm.fallback.prompt import as_text
from mud_assistant.llm.messages import JSON, JSONObject, Message, ToolResult, ToolSpec
from mud_assistant.llm.modes.mode import FieldOverride, RequestMode, apply_overrides
from mud_assistant.llm.packing.packed import join_bytes, parts_of
from mud_assistant.llm.providers.address import KeyedAddress
from mud_assistant.llm.providers.offered import OfferedModel, listed_models
from mud_assistant.llm.request import CallOptions, ToolChoice
from mud_assistant.llm.response import RateLimitInfo, StreamEvent
from mud_assistant.llm.tokens.estimate import TokenEstimator
from mud_assistant.llm.wire.building import AnswerBuilder, AnswerParser, EventRecorder
from mud_assistant.llm.wire.rate_limits import Moment, read_rate_limits
from mud_assistant.resilience import Request, SentHeaders, host_of, origin_of

#: The name given to a nameless call that is sent back to a provider: no provider accepts an empty name.
NAMELESS = "unnamed"


class LLMProvider(KeyedAddress):
    """One chat API. `model` is the model to ask; `api_url` is the base URL without a trailing slash."""

    #: The name by which users choose it.
    name = ""
    #: Request fields that make a retry answer differently, if this server has any.
    variety: Mapping[str, JSON] = MappingProxyType({})
    #: The key under which messages keep their encoded bytes.
    dialect = ""
    #: One line for owners who choose a provider.
    about = ""
    #: The base URL when none is given, empty for a provider that has no usual one.
    usual_url = ""
    #: The name of its server in a sentence, empty for "the server".
    server_name = ""
    #: Whether it is a service on the internet, which needs a key and a model name. Otherwise the owner runs the server.
    hosted = True
    #: Whether its servers go on with a turn of the assistant that ends the conversation, instead of a new one.
    continues_turns = False
    #: Whether it lists its models without a key. Its list then says nothing about the key.
    lists_without_key = True
    #: Whether every server of this kind lists its models. What answers without a list is then something else.
    always_lists = False
    #: Whether it reports the cost of a call.
    reports_cost = False
    #: The environment variable that usually holds its key, empty for the one named after the provider.
    key_variable = ""
    #: How many requests may be in flight at once, unless the owner sets another number.
    in_flight = 32
    #: The commands that start its server and fetch a model, empty for a server without such commands.
    start_command = ""
    pull_command = ""
    #: The settings that not every provider takes, each with the name of its constructor's option. The name is empty for
    #: a setting that goes with each call instead.
    settings: Mapping[str, str] = MappingProxyType({})
    #: The constructor's option for the context window, empty when the server is not told its size.
    context_option = ""
    #: The tools that the provider runs itself, by the short names that settings may use.
    server_tools: Mapping[str, JSONObject] = MappingProxyType({})
    #: The public token tables that match its models, exactly or nearly, best first. None: count by bytes.
    token_tables: tuple[str, ...] = ()
    #: How its server can constrain an answer: to a JSON Schema, to any JSON object.
    forms: tuple[str, ...] = ("schema", "json")

    def __init__(self, api_url: str = "", model: str = "", key: str = "") -> None:
        self.model = model
        self.rebind(api_url or self.usual_url, key)
        self.tokens = TokenEstimator()
        self.counted_as = self.name  # in accounts
        #: The provider that this one stands in for, if it is an `alternative`.
        self.instead_of: LLMProvider | None = None

    def __repr__(self) -> str:
        """Return the name and the model, never the key."""
        return f"<{self.name} {self.model}>"

    def alternative(self, error: LLMError | None) -> LLMProvider | None:
        """Return a provider for another API of the same server and model, when this refusal says to use that one.

        Without an error: return the one that there may be. None when there is none. It has the same key.
        """
        return None

    @property
    def is_at_vendor(self) -> bool:
        """Whether requests go to the vendor's own service on the internet, and not to a server of the owner's."""
        return self.hosted and bool(self.usual_url) and origin_of(self.api_url) == origin_of(self.usual_url)

    def get_models_url(self) -> str:
        """Return the URL that lists the models."""
        return f"{self.api_url}/models"

    # Any: JSON objects of a server.
    def parse_models(self, answer: Mapping[str, Any]) -> list[OfferedModel]:
        """Return the models in the answer of `get_models_url`, in the server's own order."""
        return listed_models(answer)

    def model_request(self, name: str) -> Request | None:
        """Return the request that asks what the server says of one model. None: the API describes no single models."""
        return None

    def parse_model(self, name: str, answer: Mapping[str, Any]) -> OfferedModel:
        """Return the model in the answer to `model_request`."""
        return OfferedModel(name)

    def build_headers(self) -> Headers:
        """Return the request headers, the credential included."""
        headers = {
            "Content-Type": ["application/json"],
            "Accept-Encoding": ["identity"],
            "User-Agent": ["mud-assistant"],
        }
        if self._key:
            headers["Authorization"] = [f"Bearer {self._key}"]
        return Headers(headers)

    def headers_for(self, options: CallOptions) -> Headers:
        """Return the headers of one call; do not change them. Overridden by providers whose options need headers."""
        return self._once(self.build_headers)

    def _once(self, build: Callable[[], Headers], of: str = "") -> Headers:
        """Return the headers that `build` makes. They are kept for later calls with the same address, key and `of`.

        Host is among them, so that all of them are encoded once.
        """
        key = (self.api_url, self._bound_to, self._secret, of)
        if self._made_headers is None or self._made_headers[0] != key:
            headers = SentHeaders(dict(build().getAllRawHeaders()))
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
        overrides: Sequence[FieldOverride] = (),
    ) -> bytes:
        """Return the request body. Messages are encoded once and kept.

        With `tools_as_text`, calls and results become text. `overrides` are changes to the request's fields, learned
        from this model's refusals.
        """
        head = apply_overrides(self.request_head(tools, tool_choice, options), overrides)
        return self.join_body(head, messages, options, tools_as_text=tools_as_text)

    def join_body(
        self, head: JSONObject, messages: Sequence[Message], options: CallOptions, *, tools_as_text: bool
    ) -> bytes:
        """Return the request body made of its head and its messages."""
        encoded = self._all_encoded(messages, tools_as_text=tools_as_text)
        encoded[:1] = [b"".join((orjson.dumps(head)[:-1], b',"messages":[', *encoded[:1]))]
        encoded[-1] += b"]}"
        return b",".join(encoded)  # the one place where a long history is copied

    @abstractmethod
    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return everything of the request but its messages; never empty."""

    @abstractmethod
    def encode_message(self, message: Message) -> list[JSONObject]:
        """Return the wire messages that one message becomes. Several results may be several messages."""

    @abstractmethod
    def answer_parser(self, answer: AnswerBuilder) -> AnswerParser:
        """Return a parser for one streamed answer, which adds to `answer` what it reads."""

    @abstractmethod
    def read_response(self, body: bytes, answer: AnswerBuilder) -> None:
        """Add to `answer` what a body that came whole says. Raises LLMError for a body that is not an answer."""

    def parse_response(self, body: bytes) -> list[StreamEvent]:
        """Return the events of an answer that came whole. Raises LLMError for a body that is not an answer."""
        recorder = EventRecorder()
        self.read_response(body, recorder)
        return recorder.take()

    def is_whole(self, content_type: str, first: bytes) -> bool:
        """Tell by its first non-blank byte whether a body is one document and not a stream."""
        return first in {b"{", b"[", b"<"}

    def parse_rate_limit_headers(self, headers: Headers, moment: Moment | None = None) -> RateLimitInfo | None:
        """Return what the headers say of limits, or None when they say nothing.

        `moment` is when the headers came; without one, now is 0.
        """
        return read_rate_limits(headers, moment or Moment())

    def adapt(self, error: Rejected, mode: RequestMode) -> RequestMode | None:
        """Return another mode to ask in after this refusal, or None when it teaches nothing."""
        return None

    @abstractmethod
    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """Return the typed error for a response that is not a 200."""

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
        """Return the wire message that answers one call."""

    def missing_model(self) -> str:
        """Say, as part of a sentence, what an owner can do when the server does not have the model."""
        return "choose another model, or have this one enabled for the key"

    def tables_fit(self) -> bool:
        """Tell whether `token_tables` are this model's own. Otherwise they are only similar."""
        return False

    def supports_tools(self) -> bool:
        """Tell whether the API has native tool calls at all. Single models may still refuse them."""
        return True

    def supports_schema(self) -> bool:
        """Tell whether the API can constrain its text to a JSON Schema."""
        return True

    def _all_encoded(self, messages: Sequence[Message], *, tools_as_text: bool) -> list[bytes]:
        """Return the bytes of the messages. Each packed row is one item.

        A long history passes through here with every call, so what is already encoded is only looked up.
        """
        key = f"{self.dialect}/text" if tools_as_text else self.dialect

        def encode(message: Message) -> bytes:
            return self._encode_once(message, key, tools_as_text)

        if type(messages) is list:  # of nothing but messages
            return [message.wire.get(key) or encode(message) for message in messages]
        return [
            part.wire.get(key) or encode(part) if isinstance(part, Message) else part.join(key, encode)
            for part in parts_of(messages)
        ]

    def _encode_once(self, message: Message, key: str, tools_as_text: bool) -> bytes:
        said = as_text(message) if tools_as_text else message
        encoded = join_bytes([orjson.dumps(wire) for wire in self.encode_message(said)])
        message.wire[key] = encoded
        return encoded
