"""Says in the words of Anthropic's Messages API why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.messages import JSONObject

#: The dialect's own words for kinds of failure. Other kinds of the 400s are `invalid_request_error`.
_TYPES: Mapping[FailureKind, str] = MappingProxyType(
    {
        FailureKind.NO_KEY: "authentication_error",
        FailureKind.FORBIDDEN: "permission_error",
        FailureKind.NOT_FOUND: "not_found_error",
        FailureKind.NO_MODEL: "not_found_error",
        FailureKind.SLOW_BODY: "timeout_error",
        FailureKind.TOO_LARGE: "request_too_large",
        FailureKind.TOO_MANY: "rate_limit_error",
        FailureKind.BUDGET: "rate_limit_error",
        FailureKind.BUDGET_FOR_GOOD: "billing_error",
        FailureKind.RATE_LIMITED: "overloaded_error",
        FailureKind.OVERLOADED: "overloaded_error",
        FailureKind.INTERNAL: "api_error",
        FailureKind.PROVIDER: "api_error",
        FailureKind.CREDENTIAL: "api_error",
        FailureKind.DEADLINE: "timeout_error",
    }
)


def error_of(failure: Failure) -> JSONObject:
    """Return a failure as a document, which is also what ends a stream that cannot be finished."""
    message = failure.message
    if failure.kind is FailureKind.CONTEXT:
        known = failure.tokens is not None and failure.limit is not None
        told = f"{failure.tokens} tokens > {failure.limit} maximum" if known else failure.message
        message = f"prompt is too long: {told}"
    kind = _TYPES.get(failure.kind, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}
