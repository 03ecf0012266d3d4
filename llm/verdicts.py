"""What a failed attempt means for its server, key and model, and whether it is retried.

    error                                  health    retried                  also
    Unavailable (connect, 5xx, time-out)   failure   yes
      an untrusted certificate             failure   no
      HTTP 408                             failure   yes                      model cools down if retried in vain
      HTTP 409                             -         yes                      model cools down if retried in vain
    StreamBroken                           failure   unless acted upon
    ProtocolError                          failure   once
    RateLimited                            -         not before `retry_at`    cap halved, model cools down
    QuotaExhausted                         -         no                       model cools down
    BadCredential                          -         no                       key not used for a while
    ModelNotFound                          -         no                       model not asked for by this caller
    Blocked                                -         no                       model cools down
    any other                              -         no

A status that is not among the configured ones is not retried. The server's own `x-should-retry` wins over both.
"""

from __future__ import annotations

from mud_assistant.llm.errors import (
    BadCredential,
    Blocked,
    LLMError,
    ModelNotFound,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from mud_assistant.resilience import RetryConfig, Verdict

#: How long an account without credit is not used when the server names no time, in seconds.
QUOTA_COOL_SECONDS = 900.0
#: The same for a server that refuses every client from here.
BLOCKED_COOL_SECONDS = 300.0
#: The same after a request that timed out at the server or met a conflict, and did so again when it was retried.
IN_VAIN_SECONDS = 90.0
_CONFLICT = 409
_NOT_NOW = {408, _CONFLICT}
#: The first status that says a request failed.
_ERRORS = 400


def verdict_of(error: Exception, now: float, retry: RetryConfig | None = None) -> Verdict:
    """Return the verdict on what an attempt raised. `now` is in clock seconds; `retry` names the retryable statuses."""
    if not isinstance(error, LLMError):
        return Verdict(f"internal error ({type(error).__name__})")
    cause = str(error)
    match error:
        case RateLimited():
            verdict = Verdict(cause, may_retry=True, throttled=True, not_before=error.retry_at)
        case QuotaExhausted():
            verdict = Verdict(cause, not_before=error.retry_at or now + QUOTA_COOL_SECONDS)
        case BadCredential():
            verdict = Verdict(cause, revokes=True)
        case ModelNotFound():
            verdict = Verdict(cause, is_missing=True)
        case Blocked():
            verdict = Verdict(cause, not_before=error.retry_at or now + BLOCKED_COOL_SECONDS)
        case Unavailable():
            verdict = _of_unavailable(error)
        case ProtocolError():
            verdict = Verdict(cause, is_failure=True, may_retry=True, most_attempts=2)
        case _:
            verdict = Verdict(cause)
    if error.should_retry is not None:
        return verdict.with_retry(error.should_retry)
    is_final = (error.status or 0) >= _ERRORS and error.status not in (retry or RetryConfig()).retryable_status_codes
    return verdict.with_retry(False) if is_final else verdict


def _of_unavailable(error: Unavailable) -> Verdict:
    """Return the verdict on a server that fails, or that cannot do it just now."""
    return Verdict(
        str(error),
        is_failure=error.status != _CONFLICT,
        may_retry=True,
        not_before=error.retry_at,
        in_vain_seconds=IN_VAIN_SECONDS if error.status in _NOT_NOW else 0.0,
    )
