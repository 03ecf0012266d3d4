"""Which error of ours a status and the words with it are (edge cases 81, 82, 85; llm-wire section 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from llm.errors import (
    BadCredential,
    ContextOverflow,
    LLMError,
    ModelNotFound,
    OutputUnreadable,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Rejected,
    ThinkingUnsupported,
    ToolsUnsupported,
    Unavailable,
)

_TOO_LARGE = 413
_TOO_MANY = 429
_BY_STATUS: Mapping[int, type[LLMError]] = {
    401: BadCredential,
    402: QuotaExhausted,
    403: BadCredential,
    408: Unavailable,
    409: Unavailable,
    429: RateLimited,
}
#: A prompt that is too long, as OpenAI, Anthropic, llama.cpp, Ollama, Gemini, Groq, Mistral, Perplexity, xAI, Bedrock,
#: Azure, Cohere, TGI and LM Studio say it.
_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window|limit)|context_length_exceeded|maximum (context|prompt) length"
    r"|(prompt|input|messages?|conversation) (is|are)? ?too long|longer than the (model's )?context"
    r"|exceed_context_size|too many tokens|too_many_prompt_tokens|reduce the length"
    r"|input tokens? (count )?.{0,20}exceeds?|`inputs` tokens|tokens? exceeds? the (maximum|configured)",
    re.IGNORECASE,
)
#: A prompt that is larger than all the tokens of a minute: waiting does not help, shrinking does.
_OVER_RATE = re.compile(r"request too large|context_length_exceeded|maximum context length", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"does not support (tools?\b|function)|tools? (is|are) not supported|tools?\b.{0,20}not supported"
    r"|support tool use|enable-auto-tool-choice",
    re.IGNORECASE,
)
#: A field about tools that is refused, which is no refusal of tools.
_ABOUT_A_FIELD = re.compile(r"reasoning_effort|tool_choice|parallel_tool_calls", re.IGNORECASE)
_NO_THINKING = re.compile(r"does not support thinking", re.IGNORECASE)
_UNREADABLE = re.compile(
    r"output that does not match the expected|failed to parse (input|output)|tool_use_failed", re.IGNORECASE
)
_NO_MODEL = re.compile(r"model.{0,120}(not found|does not exist|not exist|unknown)|model_not_found", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_(quota|balance|funds)|credit.balance|spend_limit|billing|out of credits?"
    r"|insufficient (credit|balance)",
    re.IGNORECASE,
)
#: xAI and Gemini answer a wrong key with 400.
_BAD_KEY = re.compile(r"(incorrect|invalid) api.?key|api key not valid", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged", re.IGNORECASE)
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d{3,8})\b"
_LIMITS = tuple(
    re.compile(pattern + _NUMBER, re.IGNORECASE)
    for pattern in (
        r"maximum (?:context|prompt) length (?:is|of) ",
        r"n_ctx\D{0,6}",
        r"context (?:length|size|window|limit)(?: is| of(?: only)?)?:? ?\(?",
        r"maximum number of tokens allowed \(",
        r" > ",
        r"limit of ",
        r"must be <= ",
        r"\(TPM\): limit ",
    )
)
_LIMIT_BEFORE = re.compile(_NUMBER + r" (?:tokens? )?maximum context length", re.IGNORECASE)


def kind_of(status: int, said: str) -> type[LLMError]:
    """The error for a status and the code words and sentence that came with it."""
    return _by_size(status, said) or _by_words(status, said) or _by_status(status)


def limit_in(message: str) -> int | None:
    """The context length in tokens that a sentence about a prompt too long names; None when it names none."""
    sums = re.search(rf"context limit: \d+ \+ \d+ > {_NUMBER}", message)
    found = (
        sums or _LIMIT_BEFORE.search(message) or next(filter(None, (limit.search(message) for limit in _LIMITS)), None)
    )
    return int(found.group(1).replace(",", "")) if found else None


def _by_size(status: int, said: str) -> type[LLMError] | None:
    if status == _TOO_LARGE:
        return ContextOverflow
    if status in {401, 402, 403, 404}:
        return None
    words = _OVER_RATE if status == _TOO_MANY else _OVERFLOW
    return ContextOverflow if words.search(said) else None


def _by_words(status: int, said: str) -> type[LLMError] | None:
    """What the words of an error say that its status does not."""
    if _NO_TOOLS.search(said) and not _ABOUT_A_FIELD.search(said):
        return ToolsUnsupported
    if _NO_THINKING.search(said):
        return ThinkingUnsupported
    if _UNREADABLE.search(said):
        return OutputUnreadable
    if status in {400, 402, 429} and _QUOTA.search(said):
        return QuotaExhausted
    if status == 400 and _BAD_KEY.search(said):  # noqa: PLR2004  (HTTP)
        return BadCredential
    if status in {400, 404} and _NO_MODEL.search(said):
        return ModelNotFound
    return Rejected if status == 403 and _FLAGGED.search(said) else None  # noqa: PLR2004  (HTTP)


def _by_status(status: int) -> type[LLMError]:
    """What an HTTP status means when the words add nothing."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:  # noqa: PLR2004  (HTTP)
        return Unavailable
    return ProtocolError if status < 300 else Rejected  # noqa: PLR2004  (HTTP)
