"""Says to a client of the gateway what went wrong: one kind for each cause, whatever the dialect's own words are."""

from __future__ import annotations

import re
from enum import Enum

from msgspec import Struct

from mud_assistant.llm.errors import (
    BadCredential,
    Blocked,
    BudgetReached,
    Busy,
    CircuitOpenError,
    ContextOverflow,
    ImagesUnsupported,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    QuotaExhausted,
    RateLimited,
    Rejected,
    ToolsUnsupported,
    Unavailable,
)

#: The first status by which a server says that it failed.
_FAILURES = 500
#: What a provider's sentence may tell of the owner's account and network: keys, whole or masked, and addresses.
_PRIVATE = re.compile(
    r"(?P<key>\b(?:bearer|basic)\s+\S+"
    r"|\b(?:sk|pk|key|org|proj|acct|gsk|xai|hf|mak)[-_][\w*.-]{4,}|\bAIza[\w-]{8,}"
    r"|\b(?:api[-_ ]?key|token|secret|password)[\"']?\s*[=:]\s*\S+)"
    r"|\b[a-z][a-z0-9+.-]*://\S+|\b[\w.+-]+@[\w.-]+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"
    r"|\[?(?<![\w:])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){0,6}[0-9a-f]{0,4}::[0-9a-f:]*)(?![\w:])\]?(?::\d+)?"
    r"|\b(?:(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*|localhost)(?::\d{2,5})\b"
    r"|\b(?:[a-z0-9-]+\.)+(?:local|lan|internal|home|corp|localdomain)\b"
    r"|(?<!\w)/(?:home|root|users|var|etc|srv|opt|tmp|usr)/\S*",
    re.IGNORECASE,
)


class FailureKind(Enum):
    """Why a request of a client is not answered. The value is the HTTP status, and a word that tells kinds apart."""

    #: The request cannot be read, or says what this dialect does not allow.
    INVALID = (400, "invalid")
    #: It asks for what cannot be carried to the model.
    UNSUPPORTED = (400, "unsupported")
    #: The prompt does not fit into the model's context.
    CONTEXT = (400, "context")
    #: There is no key, or it is wrong, or has expired.
    NO_KEY = (401, "key")
    #: The key may not do this.
    FORBIDDEN = (403, "forbidden")
    #: There is no such path, or no such model for this key.
    NOT_FOUND = (404, "not found")
    NO_MODEL = (404, "model")
    METHOD = (405, "method")
    #: The body took too long, or is too large, or of a type that is not read.
    SLOW_BODY = (408, "slow body")
    TOO_LARGE = (413, "too large")
    BAD_TYPE = (415, "type")
    #: The name in Host is not the gateway's.
    WRONG_HOST = (421, "host")
    #: The key asks too often, or too much at once.
    TOO_MANY = (429, "too many")
    #: The key, or the whole gateway, has used up its budget for now; or for good.
    BUDGET = (429, "budget")
    BUDGET_FOR_GOOD = (429, "budget for good")
    #: The provider asks to wait.
    RATE_LIMITED = (429, "rate limited")
    #: The gateway itself failed.
    INTERNAL = (500, "internal")
    #: The provider failed, or refused the gateway's own credential.
    PROVIDER = (502, "provider")
    CREDENTIAL = (502, "credential")
    #: Too many wait already, or the provider failed so often that it is left alone.
    OVERLOADED = (503, "overloaded")
    #: No answer in time.
    DEADLINE = (504, "deadline")

    @property
    def status(self) -> int:
        """The HTTP status, unless the dialect has one of its own."""
        return self.value[0]


class Failure(Struct, frozen=True):
    """Why a request was not answered, in a sentence that holds no key.

    `parameter` is the field of the request that is to blame, empty for none. `retry_after` is in seconds, None when
    waiting is not known to help. With `should_retry` False the client's library must not try again by itself.
    """

    kind: FailureKind
    message: str
    parameter: str = ""
    retry_after: float | None = None
    should_retry: bool = True
    #: The tokens of the prompt and the most the model takes, where they are known and the context is the cause.
    tokens: int | None = None
    limit: int | None = None


class RequestRefused(Exception):
    """The request of a client is not answered; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def invalid(message: str, parameter: str = "") -> RequestRefused:
    """Return the refusal of a request that is wrong."""
    return RequestRefused(Failure(FailureKind.INVALID, message, parameter, should_retry=False))


def unsupported(message: str, parameter: str) -> RequestRefused:
    """Return the refusal of a request for what cannot be carried to the model. `parameter` is the field."""
    return RequestRefused(Failure(FailureKind.UNSUPPORTED, message, parameter, should_retry=False))


def failure_of(error: LLMError, now: float) -> Failure:
    """Return what a client is told of a failed call. `now` is in clock seconds.

    The provider's own words are passed on where they are about the client's request, and where the provider failed.
    What they say of keys, accounts and addresses is for the log alone.
    """
    after = None if error.retry_at is None else max(0.0, error.retry_at - now)
    who = error.provider or "the provider"
    match error:
        case ContextOverflow():
            return Failure(FailureKind.CONTEXT, error.message, "messages", should_retry=False, limit=error.limit)
        case ImagesUnsupported():
            said = f"the model behind this name takes no images ({who} said: {public_words(error.message)})"
            return Failure(FailureKind.UNSUPPORTED, said, "messages", should_retry=False)
        case Rejected() | ToolsUnsupported():
            return Failure(FailureKind.INVALID, error.message, getattr(error, "parameter", ""), should_retry=False)
        case BudgetReached():
            said = f"the budget of {error.account.rpartition(':')[2]} is used up ({error.what})"
            return Failure(FailureKind.BUDGET, said, retry_after=after, should_retry=False)
        case RateLimited():
            return Failure(FailureKind.RATE_LIMITED, f"{who} asks to wait", retry_after=after)
        case CircuitOpenError():
            said = f"{who} failed several times lately and is left alone for now"
            return Failure(FailureKind.OVERLOADED, said, retry_after=max(1.0, error.retry_after))
        case Busy():
            return Failure(FailureKind.OVERLOADED, f"too many calls wait for {who}", retry_after=1.0)
        case LLMDeadlineExceeded():
            return Failure(FailureKind.DEADLINE, f"{who} did not answer in time", should_retry=False)
        case _:
            return _of_the_provider(error, who)


def _of_the_provider(error: LLMError, who: str) -> Failure:
    """Return what a client is told when the provider or its account failed; its words are for the log."""
    match error:
        case QuotaExhausted():
            kind, said = FailureKind.CREDENTIAL, f"the gateway's account with {who} has no credit left"
        case BadCredential() | Blocked():
            kind, said = FailureKind.CREDENTIAL, f"the gateway's credential for {who} was refused"
        case ModelNotFound():
            kind, said = FailureKind.PROVIDER, f"{who} does not have the model that stands behind this name"
        case Unavailable(status=None):
            kind, said = FailureKind.PROVIDER, f"{who} cannot be reached, or broke off"
        case _ if (error.status or 0) >= _FAILURES and (sentence := public_words(error.own_message)):
            kind, said = FailureKind.PROVIDER, f"{who} failed: {sentence}"
        case _:
            kind, said = FailureKind.PROVIDER, f"{who} failed"
    return Failure(kind, said, should_retry=False)


def public_words(sentence: str) -> str:
    """Return what a provider said without keys, addresses, and paths of its machine."""
    return _PRIVATE.sub(lambda found: "[key]" if found["key"] else "[address]", sentence)
