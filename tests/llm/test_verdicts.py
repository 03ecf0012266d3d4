"""What a failed attempt means: a row for each row of the tables in `llm/verdicts.py` and reliability-security.md 1."""

from __future__ import annotations

import pytest

from mud_assistant.llm import (
    BadCredential,
    ContextOverflow,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    OutputUnreadable,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Rejected,
    SchemaMismatch,
    StreamBroken,
    ThinkingUnsupported,
    ToolsUnsupported,
    Unavailable,
    UnpairedServerTool,
)
from mud_assistant.llm.verdicts import QUOTA_COOL_SECONDS, verdict_of
from mud_assistant.llm.wire.error_kinds import kind_of
from mud_assistant.resilience import RetryConfig, Verdict

NOW = 100.0
#: The server is sick, its limits are reached, its account is empty, the key is bad, or the request is wrong.
SICK = Verdict("", is_failure=True, may_retry=True)
ONCE = Verdict("", is_failure=True, may_retry=True, most_attempts=2)
NOT_AGAIN = Verdict("", is_failure=True)
BUSY = Verdict("", may_retry=True)
THROTTLED = Verdict("", may_retry=True, throttled=True)
EMPTY = Verdict("", not_before=NOW + QUOTA_COOL_SECONDS)
BAD_KEY = Verdict("", revokes=True)
OURS = Verdict("")


def judged(error: Exception) -> Verdict:
    """The verdict without its cause, which is the error's own sentence."""
    verdict = verdict_of(error, NOW)
    cause = str(error) if isinstance(error, LLMError) else f"internal error ({type(error).__name__})"
    assert verdict.cause == cause
    return Verdict(
        "",
        verdict.is_failure,
        verdict.may_retry,
        verdict.most_attempts,
        verdict.throttled,
        verdict.not_before,
        verdict.revokes,
    )


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Unavailable("cannot connect"), SICK),
        (Unavailable("the certificate cannot be trusted", should_retry=False), NOT_AGAIN),
        (Unavailable("conflict", status=409), BUSY),
        (StreamBroken("ended early"), SICK),
        (StreamBroken("ended early", should_retry=False), NOT_AGAIN),
        (ProtocolError("no answer"), ONCE),
        (SchemaMismatch("no JSON"), ONCE),
        (RateLimited("slow down"), THROTTLED),
        (QuotaExhausted("no credit"), EMPTY),
        (BadCredential("wrong key"), BAD_KEY),
        (ModelNotFound("gone"), OURS),
        (ToolsUnsupported("no tools"), OURS),
        (ThinkingUnsupported("no thinking"), OURS),
        (OutputUnreadable("not my grammar"), OURS),
        (ContextOverflow("too long", limit=10), OURS),
        (Rejected("no such field"), OURS),
        (UnpairedServerTool("unpaired"), OURS),
        (LLMDeadlineExceeded("over"), OURS),
        (KeyError("a bug of ours"), OURS),
    ],
)
def test_every_error_has_its_row(error: Exception, verdict: Verdict) -> None:
    assert judged(error) == verdict


@pytest.mark.parametrize(
    ("status", "said", "verdict"),
    [
        *((status, "", SICK) for status in (408, 500, 501, 502, 503, 504, 520, 529, 599)),
        (409, "", BUSY),
        (429, "slow down", THROTTLED),
        (429, "insufficient_quota", EMPTY),
        (402, "", EMPTY),
        (401, "", BAD_KEY),
        (403, "", BAD_KEY),
        (403, "flagged by moderation", OURS),
        *((status, "", OURS) for status in (400, 404, 405, 413, 422)),
        (400, "maximum context length is 10 tokens", OURS),
        (204, "", ONCE),
    ],
)
def test_every_status_has_its_row(status: int, said: str, verdict: Verdict) -> None:
    assert judged(kind_of(status, said)("it failed", status=status)) == verdict


@pytest.mark.parametrize(
    ("error", "at"),
    [
        (RateLimited("slow down", retry_at=105.0), 105.0),
        (QuotaExhausted("no credit", retry_at=3600.0), 3600.0),
        (Unavailable("busy", status=503, retry_at=102.0), 102.0),
        (Unavailable("busy", status=503), None),
    ],
)
def test_the_servers_wish_is_kept(error: LLMError, at: float | None) -> None:
    assert judged(error).not_before == at


@pytest.mark.parametrize(
    ("error", "otherwise"),
    [
        (Unavailable("broken", status=500), SICK),
        (RateLimited("slow down", status=429), THROTTLED),
        (ProtocolError("no answer"), ONCE),
        (Rejected("no such field", status=400), OURS),
        (BadCredential("wrong key", status=401), BAD_KEY),
    ],
)
@pytest.mark.parametrize("word", [True, False])
def test_the_servers_word_on_trying_again_wins_and_changes_nothing_else(
    error: LLMError, otherwise: Verdict, word: bool
) -> None:
    error.should_retry = word
    try:
        assert judged(error) == otherwise.with_retry(word)
    finally:
        error.should_retry = None


@pytest.mark.parametrize(("status", "may_retry"), [(503, True), (500, False), (None, True)])
def test_only_the_configured_statuses_are_tried_again(status: int | None, may_retry: bool) -> None:
    retry = RetryConfig(retryable_status_codes=frozenset({503}))
    assert verdict_of(Unavailable("busy", status=status), 0.0, retry).may_retry is may_retry


def test_the_servers_own_word_wins_over_the_configured_statuses() -> None:
    retry = RetryConfig(retryable_status_codes=frozenset())
    assert verdict_of(Unavailable("busy", status=500, should_retry=True), 0.0, retry).may_retry
