"""Everything that can go wrong between asking a model and having its answer.

    LLMError
    ├── Unavailable            the provider fails or is out of reach; it may recover later
    │   ├── StreamBroken       it began to answer and stopped; `partial` keeps the text so far
    │   ├── CircuitOpenError   it failed lately and is not asked for now; see `retry_after`
    │   └── Busy               too many calls are waiting for it already
    ├── RateLimited            the provider asks to wait; see `retry_at`
    ├── QuotaExhausted         the account has no credit; waiting does not help
    ├── BadCredential          the key is refused or missing
    ├── Blocked                refused before the key was checked: a region, a bot filter
    ├── ModelNotFound          the provider does not have this model, or not for this key
    ├── ToolsUnsupported       this model takes no tools; the client remembers it and falls back
    ├── ThinkingUnsupported    this model cannot be told to think; the client remembers it and leaves the option out
    ├── OutputUnreadable       the server could not parse its own model's tool call (llama.cpp, Groq)
    ├── ContextOverflow        the prompt is too long; `limit` in tokens when known
    ├── Rejected               any other 4xx: our request was wrong for this provider
    │   ├── UnpairedServerTool a server tool's call in the history has no result; the client leaves it out
    │   ├── ImagesUnsupported  the model takes no images
    │   ├── UnreadableReasoning sealed reasoning in the history cannot be opened; the client leaves it out
    │   └── WrongEndpoint      the model is not served at this endpoint; the client asks at the other one
    ├── ProtocolError          it responded, but not with an answer
    │   └── SchemaMismatch     the text does not match the JSON Schema that was asked for
    ├── BadVectors             it answered with vectors that cannot be used: NaN, zeros, another length
    ├── BudgetReached          our own budget for the day is used up; nothing was sent
    └── LLMDeadlineExceeded    our own time ran out

No error holds a key, and none holds a full URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(eq=False)
class LLMError(Exception):
    """A call to a model failed.

    `status` is the HTTP status, or None when there was none; `request_id` is the provider's id for the call. `retry_at`
    is when the provider wants to be asked again, in clock seconds. `should_retry` is its own word on whether to ask at
    all, and wins over the status. Both are None where it said nothing. `partial` is the text that came before the
    failure. It is kept apart because it is not an answer.
    """

    message: str
    provider: str = ""
    model: str = ""
    status: int | None = None
    request_id: str | None = None
    retry_at: float | None = field(default=None, kw_only=True)
    should_retry: bool | None = field(default=None, kw_only=True)
    partial: str = field(default="", repr=False, kw_only=True)
    #: When to ask again according to the error's body, under the names of the headers that would say so.
    wishes: Mapping[str, str] = field(default_factory=dict, repr=False, kw_only=True)

    #: The message before those of other models were joined to it, empty when none were.
    _alone: str = field(default="", init=False, repr=False)

    #: True when the same call may succeed later without any change.
    retryable = False

    @property
    def own_message(self) -> str:
        """What was said of this failure alone."""
        return self._alone or self.message

    def join(self, others: str) -> None:
        """Add what was said of other models that were asked as well."""
        self._alone, self.message = self.own_message, f"{self.message}; {others}"

    def __str__(self) -> str:
        """Return one sentence that a game owner understands."""
        where = "/".join(part for part in (self.provider, self.model) if part)
        code = f" (HTTP {self.status})" if self.status else ""
        return f"{where}: {self.message}{code}" if where else f"{self.message}{code}"


class Unavailable(LLMError):
    """The provider could not be reached or failed on its side."""

    retryable = True


class StreamBroken(Unavailable):
    """The answer began and did not end with its own end mark; its tool calls must not run."""


@dataclass(eq=False)
class CircuitOpenError(Unavailable):
    """The server `name` failed lately; nothing was sent. It may be asked again in `retry_after` seconds."""

    name: str = field(default="", kw_only=True)
    retry_after: float = field(default=0.0, kw_only=True)


class Busy(Unavailable):
    """The queue for this server is full; nothing was sent."""


class RateLimited(LLMError):
    """The provider asks to wait, until `retry_at` when it named a time."""

    retryable = True


class QuotaExhausted(LLMError):
    """The account has no credit; waiting does not help."""


class BadCredential(LLMError):
    """The key is missing, wrong, or not allowed to do this."""


class Blocked(LLMError):
    """The server refuses clients from here: a region, an address or a bot filter. It says nothing about the key."""


class ModelNotFound(LLMError):
    """The provider has no model of this name, or does not give it to this key."""


class ToolsUnsupported(LLMError):
    """The model takes no tools; the client remembers it and asks for JSON instead."""


class ThinkingUnsupported(LLMError):
    """The model has no thinking to turn on; the client remembers it and leaves the option out."""


@dataclass(eq=False)
class OutputUnreadable(LLMError):
    """The server's parser gave up on the model's tool call, so it returned an error. Asking for calls as text helps.

    `generated` is the model's output, when the server shows it (Groq's `failed_generation`).
    """

    generated: str = field(default="", repr=False)
    retryable = True


@dataclass(eq=False)
class ContextOverflow(LLMError):
    """The prompt does not fit. `limit` is the context length in tokens when the server named it."""

    limit: int | None = None


@dataclass(eq=False)
class Rejected(LLMError):
    """The provider refused the request as it is. `parameter` is the field it named, empty when it named none."""

    parameter: str = ""


class UnpairedServerTool(Rejected):
    """The history has a call of the provider's own tool without its result, and this time the provider refuses that."""


class ImagesUnsupported(Rejected):
    """The model takes no images."""


class UnreadableReasoning(Rejected):
    """The history has reasoning that this server cannot open: sealed with another key, or for another model."""


class WrongEndpoint(Rejected):
    """The model is not served at this endpoint, or not with tools. The server names the one to use."""


class ProtocolError(LLMError):
    """The answer violates this provider's protocol."""

    retryable = True


@dataclass(eq=False)
class SchemaMismatch(ProtocolError):
    """The answer is not JSON of the requested schema. `answer` keeps its text."""

    answer: str = field(default="", repr=False)


class BadVectors(LLMError):
    """The vectors that came cannot be used: NaN, infinity, zeros, another length or number than was asked for."""


class LLMDeadlineExceeded(LLMError):
    """The time given to the call ran out."""

    retryable = True


@dataclass(eq=False)
class BudgetReached(LLMError):
    """`account` has used its `what` ("calls", "tokens" or "money") for today, until `retry_at`; nothing was sent."""

    account: str = field(default="", kw_only=True)
    what: str = field(default="", kw_only=True)
