"""Everything that can go wrong between asking a model and having its answer.

    LLMError
    ├── Unavailable            the provider is sick or out of reach; later may be better
    │   └── StreamBroken       it began to answer and stopped; `partial` keeps what came
    ├── RateLimited            asked to wait; `retry_at`
    ├── QuotaExhausted         out of credit; waiting does not help
    ├── BadCredential          key refused or missing
    ├── ModelNotFound          the provider does not have this model
    ├── ToolsUnsupported       this model takes no tools (edge case 85); the client learns and falls back
    ├── ThinkingUnsupported    this model cannot be told to think; the client learns and leaves the option out
    ├── OutputUnreadable       the server could not read its own model's tool call (llama.cpp, Groq)
    ├── ContextOverflow        the prompt is too long; `limit` in tokens when told
    ├── Rejected               any other 4xx: our request was wrong for this provider
    ├── ProtocolError          it answered, and the answer is not one
    └── LLMDeadlineExceeded    our own time ran out

No error holds a key, and none holds a full URL.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class LLMError(Exception):
    """A call to a model failed.

    `status` is the HTTP status or None when there was none; `request_id` the provider's id for the call.
    """

    message: str
    provider: str = ""
    model: str = ""
    status: int | None = None
    request_id: str | None = None

    #: True when the same call may succeed later without anyone changing anything.
    retryable = False

    def __str__(self) -> str:
        """One sentence a game owner understands."""
        where = "/".join(part for part in (self.provider, self.model) if part)
        code = f" (HTTP {self.status})" if self.status else ""
        return f"{where}: {self.message}{code}" if where else f"{self.message}{code}"


@dataclass(eq=False)
class Unavailable(LLMError):
    """The provider could not be reached or failed on its side."""

    retryable = True


@dataclass(eq=False)
class StreamBroken(Unavailable):
    """The answer began and did not end with its own end mark; its tool calls must not run."""

    partial: str = field(default="", repr=False)


@dataclass(eq=False)
class RateLimited(LLMError):
    """The provider asks to wait. `retry_at` is in clock seconds, None when it did not say."""

    retry_at: float | None = None
    retryable = True


@dataclass(eq=False)
class QuotaExhausted(LLMError):
    """The account has no credit; waiting does not help."""


@dataclass(eq=False)
class BadCredential(LLMError):
    """The key is missing, wrong or may not do this."""


@dataclass(eq=False)
class ModelNotFound(LLMError):
    """The provider has no model of this name."""


@dataclass(eq=False)
class ToolsUnsupported(LLMError):
    """The model takes no tools; the client remembers it and asks for JSON instead."""


@dataclass(eq=False)
class ThinkingUnsupported(LLMError):
    """The model has no thinking to turn on; the client remembers it and leaves the option out."""


@dataclass(eq=False)
class OutputUnreadable(LLMError):
    """The server answered with an error because its parser gave up on the model's tool call; asking as text helps."""

    retryable = True


@dataclass(eq=False)
class ContextOverflow(LLMError):
    """The prompt does not fit. `limit` is the context length in tokens when the server named it."""

    limit: int | None = None


@dataclass(eq=False)
class Rejected(LLMError):
    """The provider refused the request as it is."""


@dataclass(eq=False)
class ProtocolError(LLMError):
    """The answer is not what this provider's protocol allows."""

    retryable = True


@dataclass(eq=False)
class LLMDeadlineExceeded(LLMError):
    """The time given to the call ran out."""

    retryable = True
