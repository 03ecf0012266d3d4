"""READ FIRST: what a dialect is, on the side of the server: requests in, answers out, both as pure functions.

A provider (`llm/providers/provider.py`) speaks a dialect to a server. Here the same dialects are spoken to clients: a
request of one becomes an `AskedCall`, and the answer, piece by piece or whole, becomes the bytes the client expects.
Nothing here opens a connection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import JSONObject, Message, ToolSpec
from mud_assistant.llm.request import CallOptions, ToolChoice


class AskedCall(Struct, frozen=True):
    """What a client asks of a model, in neutral values. `model` is the name by which the client knows the model.

    `body` is the request as it was sent, for what an answer repeats of it. `dropped` are the fields that are only hints
    and were left out; a field that is no hint and cannot be carried is refused. `counts_usage`: the client wants the
    use of tokens in its stream. `namespaces` gives, for tools whose names were joined to a namespace, the namespace
    and the name by the joined name.
    """

    model: str
    streams: bool
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    tool_choice: ToolChoice | None = None
    options: CallOptions = field(default_factory=CallOptions)
    body: JSONObject = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    counts_usage: bool = True
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class AnswerHead(Struct, frozen=True):
    """What is known before an answer begins: its id without a prefix, when it was created in seconds since 1970.

    `input_tokens` is the estimated size of the prompt.
    """

    id: str
    created: int
    input_tokens: int


class OfferedModelName(Struct, frozen=True):
    """A model as the gateway offers it. `context_tokens` is None when it is not known; `created` as in AnswerHead."""

    name: str
    created: int
    context_tokens: int | None = None
    has_tools: bool = True
    sees_images: bool = False


class Dialect(ABC):
    """One dialect of clients. It keeps no state."""

    #: The name for settings, logs and metrics: "messages", "chat", "responses", "ollama".
    name = ""
    #: The names of the providers that speak it themselves: a request may be forwarded to those as it is.
    providers: frozenset[str] = frozenset()
    #: The type of the body of a stream.
    stream_type = b"text/event-stream; charset=utf-8"
    #: What stands between two events of a stream.
    between_events = b"\n\n"

    @abstractmethod
    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Header names are in lower case. Raises RequestRefused."""

    @abstractmethod
    def renderer(self, asked: AskedCall, head: AnswerHead) -> AnswerRenderer:
        """Return what makes the bytes of one answer."""

    @abstractmethod
    def error_body(self, failure: Failure) -> tuple[int, JSONObject]:
        """Return the status and the body of a response that says why there is no answer."""

    @abstractmethod
    def models_body(self, models: Sequence[OfferedModelName]) -> JSONObject:
        """Return the list of models as a client of this dialect expects it."""

    @abstractmethod
    def model_body(self, model: OfferedModelName) -> JSONObject:
        """Return the description of one model."""

    def wants_stream(self, body: JSONObject) -> bool:
        """Tell whether the request asks for a stream. Needed where the body is not read further."""
        return body.get("stream") is True
