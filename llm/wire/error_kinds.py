"""Chooses the error class for a status and the words that came with it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mud_assistant.llm.errors import (
    BadCredential,
    Blocked,
    ContextOverflow,
    ImagesUnsupported,
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

_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND = 400, 403, 404
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
#: A prompt is too long, in the words of OpenAI, Anthropic, llama.cpp, Ollama, Gemini, Groq, Mistral, Perplexity, xAI,
#: Bedrock, Azure, Cohere, TGI and LM Studio.
_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window|limit)|context_length_exceeded|maximum (context|prompt) length"
    r"|(prompt|input|messages?|conversation) (is|are)? ?too long|longer than the (model's )?context"
    r"|exceed_context_size|too many tokens|too_many_prompt_tokens|reduce the length"
    r"|input tokens? (count )?.{0,20}exceeds?|`inputs` tokens|tokens? exceeds? the (maximum|configured)"
    r"|tokens\) is too large to process",
    re.IGNORECASE,
)
#: A prompt is larger than the token limit of a whole minute: waiting does not help, shrinking does.
_OVER_RATE = re.compile(r"request too large|context_length_exceeded|maximum context length", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"does not support (tools?\b|function)|tools? (is|are) not supported|tools?\b.{0,20}not supported"
    r"|support tool use|enable-auto-tool-choice",
    re.IGNORECASE,
)
#: A field that concerns tools was refused; tools themselves were not.
_ABOUT_A_FIELD = re.compile(r"reasoning_effort|tool_choice|parallel_tool_calls", re.IGNORECASE)
#: A model takes no images, in the words of llama.cpp, Ollama, vLLM, LM Studio, OpenAI, OpenRouter, Groq and Mistral.
_NO_IMAGES = re.compile(
    r"(image|vision|multi-?modal)\w*( \w+){0,3} (is|are) not (supported|enabled|available)"
    r"|(does not|do not|doesn't|cannot) (support|accept|take|process|have|see)( \w+){0,2} (image|vision|multi-?modal)"
    r"|not a (vision|multi-?modal) model|missing data required for image|no endpoints found that support image"
    r"|image_url.{0,40}(only supported|not supported|unsupported|is not allowed)",
    re.IGNORECASE,
)
_NO_THINKING = re.compile(r"does not support thinking", re.IGNORECASE)
_UNREADABLE = re.compile(
    r"output that does not match the expected|failed to parse (input|output)|tool_use_failed", re.IGNORECASE
)
#: A model does not exist, in the words of OpenAI, Ollama, DeepSeek, Mistral, Perplexity, OpenRouter, Azure, Together,
#: Groq, Google and GitHub.
_NO_MODEL = re.compile(
    r"models?\b.{0,120}(not found|does not exist|not exist|unknown|not loaded|no longer available"
    r"|has been (deprecated|decommissioned|removed|retired))"
    r"|model_(not_found|not_available|not_supported|decommissioned)|deploymentnotfound|deployment for this resource"
    r"|(no such|unknown|invalid) model\b(?![_.])|not a valid model|requested model is not supported"
    r"|unable to access model|no models? loaded|no endpoints found(?! that support)",
    re.IGNORECASE,
)
#: A model exists but not for this key, in the words of OpenAI, Groq, Bedrock and Ollama's cloud.
_MODEL_DENIED = re.compile(
    r"model_\w*(not_found|permission|not_allowed|not_enabled|terms)"
    r"|\b(access|allowed|authorized|available|blocked|disabled|enabled|entitled|permitted|use)\b.{0,120}\bmodels?\b(?!\.)"
    r"|(?<!\.)\bmodels?\b(?!\.).{0,160}\b(access|blocked|disabled|gated|permission|requires|restricted|subscription"
    r"|not (allowed|authorized|available|enabled|permitted|supported))",
    re.IGNORECASE,
)
#: A refusal made before the key was checked: of a region, an address, or a client that looks like a program.
BLOCKED = re.compile(
    r"unsupported_country|(country|region|territory|location)\b.{0,60}not (supported|available|allowed)"
    r"|not available in your (country|region)|location is not supported|request not allowed"
    r"|ip (address )?(is )?(not (allowed|authorized)|blocked|banned)|ip_not_authorized"
    r"|cloudflare|just a moment|attention required|checking your browser|captcha|bot (detection|protection)"
    r"|error code: 1\d{3}\b|you have been blocked|unusual traffic|web application firewall",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_(quota|balance|funds)|credit.balance|spend_limit|billing|out of credits?"
    r"|insufficient (credit|balance)",
    re.IGNORECASE,
)
#: OpenRouter's message when a key has used up its own limit.
_KEY_SPENT = re.compile(r"key limit exceeded", re.IGNORECASE)
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


def kind_of(status: int, said: str, *, is_page: bool = False, model: str = "") -> type[LLMError]:
    """Return the error class for a status and the code words and sentence that came with it.

    `is_page`: the body is a page for people, not an answer of an API. `model` is the model that was requested.
    """
    if status == _FORBIDDEN and (refused := _by_refusal(said, is_page=is_page)):
        return refused
    if status == _NOT_FOUND and model and model in said and not _NO_TOOLS.search(said):
        return ModelNotFound
    return _by_size(status, said) or _by_words(status, said) or _by_status(status)


def limit_in(message: str) -> int | None:
    """Return the context length in tokens that a too-long-prompt message names. None when it names none."""
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
    """Return the error class that the words show and the status does not."""
    if _NO_TOOLS.search(said) and not _ABOUT_A_FIELD.search(said):
        return ToolsUnsupported
    if status >= _BAD_REQUEST and _NO_IMAGES.search(said):
        return ImagesUnsupported
    if _NO_THINKING.search(said):
        return ThinkingUnsupported
    if _UNREADABLE.search(said):
        return OutputUnreadable
    if status in {400, 402, 403, 429} and _QUOTA.search(said):
        return QuotaExhausted
    if status == 400 and _BAD_KEY.search(said):  # noqa: PLR2004  (HTTP)
        return BadCredential
    if status in {400, 401} and BLOCKED.search(said):
        return Blocked
    if status in {400, 404} and _NO_MODEL.search(said):
        return ModelNotFound
    return None


def _by_refusal(said: str, *, is_page: bool) -> type[LLMError] | None:
    """Return what a 403 refuses, or None when it refuses the key."""
    if is_page or BLOCKED.search(said):
        return Blocked
    if _KEY_SPENT.search(said):
        return QuotaExhausted
    if _FLAGGED.search(said):
        return Rejected
    return ModelNotFound if _MODEL_DENIED.search(said) or _NO_MODEL.search(said) else None


def _by_status(status: int) -> type[LLMError]:
    """Return the error class of an HTTP status when the words add nothing."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:  # noqa: PLR2004  (HTTP)
        return Unavailable
    return ProtocolError if status < 300 else Rejected  # noqa: PLR2004  (HTTP)
