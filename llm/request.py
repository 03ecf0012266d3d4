"""What a caller asks of a model: messages, tools, the options of the call, on whose behalf, and who listens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct, field
from twisted.internet.defer import Deferred

from mud_assistant.llm.messages import JSON, JSONObject, Message, ToolSpec
from mud_assistant.llm.response import StreamEvent
from mud_assistant.resilience import Caller

if TYPE_CHECKING:
    from pydantic import BaseModel

#: "auto" lets the model choose, "none" forbids tools, "required" asks for one; any other string names the tool.
ToolChoice = str
#: How a server is asked to constrain text that must be JSON: by a JSON Schema until it refuses one ("auto"), by one in
#: every request, by its JSON mode, or not at all. Where the server does not constrain it, the form is put into words.
Structured = Literal["auto", "schema", "json", "off"]
#: Called with every event of a stream, in order, as it arrives. If it returns a Deferred, the stream is held back until
#: that fires: nothing more is read from the connection meanwhile.
Listener = Callable[[StreamEvent], Deferred[None] | None]
#: Called with the address and the body of each request of a call, just before an attempt sends it. Must not raise.
OnRequest = Callable[[str, bytes], None]


class CallOptions(Struct, frozen=True):
    """Options of one call. None leaves the provider's default.

    `max_tokens` bounds the answer in tokens. `schema` is a JSON Schema, or a pydantic model, that the answer's text
    must match; the value is then `LLMResponse.structured`. `think` turns a thinking model's reasoning on or off.
    `extra_params` is merged into the request: dicts deep, lists concatenated. `server_tools` are tools that the
    provider runs itself, in its own form. They are added to the client's tools; a provider without any leaves them out.
    `structured` is how a server is asked to constrain text that must be JSON; `json_object` asks it for a JSON object
    with any members. `prompt_cache` marks what the provider may keep for the next call. `cache_key` is the same for
    calls whose prompts begin alike, so that a provider can send them where that beginning is kept. `hops` is how many
    gateways of ours the call has passed, so that a loop of them ends. `images` are how many images the messages hold,
    and their bytes in base64, which say nothing of their tokens.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    think: bool | None = None
    schema: JSONObject | type[BaseModel] | None = None
    extra_params: Mapping[str, JSON] = field(default_factory=dict)
    server_tools: tuple[JSONObject, ...] = ()
    structured: Structured = "auto"
    json_object: bool = False
    prompt_cache: bool = True
    cache_key: str = ""
    hops: int = 0
    images: tuple[int, int] = (0, 0)

    @property
    def json_schema(self) -> JSONObject | None:
        """The schema as JSON, or None when none was given."""
        if isinstance(self.schema, type):
            return cast("JSONObject", self.schema.model_json_schema())
        return self.schema


#: About how many tokens an image has, whatever its size in bytes: providers count by its width and height.
IMAGE_TOKENS = 1_000
#: The header that counts the gateways.
HOPS_HEADER = "x-mud-assistant-hops"
#: The options and the caller of a call that names none.
USUAL = CallOptions(extra_params=MappingProxyType({}))
NOBODY = Caller()
_NAME = attrgetter("name")


class ChatRequest(Struct, frozen=True):
    """One logical call."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    tool_choice: ToolChoice | None
    options: CallOptions
    listener: ActingListener | None
    caller: Caller
    on_request: OnRequest | None = None


def names_of(tools: Sequence[ToolSpec]) -> list[str]:
    """Return the names of the tools."""
    return [*map(_NAME, tools)]


def merge(base: Mapping[str, JSON], extra: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return `base` with `extra` added: dicts merged deep, lists concatenated, anything else replaced."""
    merged = dict(base)
    for key, value in extra.items():
        mine = merged.get(key)
        if isinstance(mine, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            merged[key] = [*mine, *value]
        else:
            merged[key] = value
    return merged


class ActingListener(ABC):
    """A listener that may act on an answer before it is whole, and says whether it did.

    An answer that was acted upon is not requested again, from any model. Until then a broken stream is retried as if
    there were no listener.
    """

    @property
    @abstractmethod
    def acted(self) -> bool:
        """Whether anything was done that cannot be taken back."""

    def begins(self, *, text_is_answer: bool, as_text: bool = False) -> None:  # noqa: B027  (most need not know)
        """Note that an attempt begins: forget what was heard of the one before.

        `text_is_answer` is True when tools are offered natively and this model's text has always been the whole answer.
        `as_text` is True when tools are offered in words, so that the text may be a call.
        """

    @abstractmethod
    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        """Take one event, as a `Listener` does."""


def acting(listener: Listener | None) -> ActingListener | None:
    """Return the listener as one that says whether it acted, or the same object when it already does."""
    return listener if listener is None or isinstance(listener, ActingListener) else _Plain(listener)


class _Plain(ActingListener):
    """A listener made of a plain function. Hearing anything counts as acting."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._heard = False

    @property
    def acted(self) -> bool:
        return self._heard

    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        self._heard = True
        return self._listener(event)
