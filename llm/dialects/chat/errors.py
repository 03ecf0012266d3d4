"""Says in the words of OpenAI's Chat Completions API why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.messages import JSONObject

_BAD = "invalid_request_error"
#: The type and the code of each kind of failure.
_WORDS: Mapping[FailureKind, tuple[str, str | None]] = MappingProxyType(
    {
        FailureKind.INVALID: (_BAD, None),
        FailureKind.UNSUPPORTED: (_BAD, "unsupported_parameter"),
        FailureKind.CONTEXT: (_BAD, "context_length_exceeded"),
        FailureKind.NO_KEY: (_BAD, "invalid_api_key"),
        FailureKind.FORBIDDEN: (_BAD, "permission_denied"),
        FailureKind.NO_MODEL: (_BAD, "model_not_found"),
        FailureKind.TOO_MANY: ("requests", "rate_limit_exceeded"),
        FailureKind.BUDGET: ("insufficient_quota", "insufficient_quota"),
        FailureKind.BUDGET_FOR_GOOD: ("insufficient_quota", "insufficient_quota"),
        FailureKind.RATE_LIMITED: ("requests", "rate_limit_exceeded"),
        FailureKind.INTERNAL: ("server_error", "server_error"),
        FailureKind.PROVIDER: ("server_error", "server_error"),
        FailureKind.CREDENTIAL: ("server_error", "server_error"),
        FailureKind.OVERLOADED: ("server_error", "server_is_overloaded"),
        FailureKind.DEADLINE: ("server_error", "server_error"),
    }
)


def status_of(failure: Failure) -> int:
    """Return the HTTP status. A model that the key may not use is one that does not exist."""
    return _kind(failure).status


def error_of(failure: Failure) -> JSONObject:
    """Return a failure as a document, which is also what ends a stream that cannot be finished."""
    kind, code = _WORDS.get(_kind(failure), (_BAD, None))
    return {"error": {"message": failure.message, "type": kind, "param": failure.parameter or None, "code": code}}


def _kind(failure: Failure) -> FailureKind:
    is_about_model = failure.kind is FailureKind.FORBIDDEN and failure.parameter == "model"
    return FailureKind.NO_MODEL if is_about_model else failure.kind
