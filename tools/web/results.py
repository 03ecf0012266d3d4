"""What a model gets of the web: the results of both tools as JSON, or what it is told of an error. Pure.

Of an error it is told who failed, in what way, and what it can do about it. Addresses, file names, commands and the
words of servers are for the owner, who finds them in the log, the doctor and `/status`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer
from twisted.logger import Logger

from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError

_log = Logger()
#: The most characters of an error's own text (`told`) that a model is shown.
MAX_REASON_CHARS = 300
#: By kind: what went wrong. The text follows the name of the provider that it went wrong with.
_REASONS = MappingProxyType(
    {
        ErrorKind.POLICY: "this is not allowed here",
        ErrorKind.BAD_REQUEST: "refused the request",
        ErrorKind.AUTH: "is not set up rightly",
        ErrorKind.QUOTA: "has no quota left",
        ErrorKind.RATE_LIMITED: "is asked too often",
        ErrorKind.TIMEOUT: "did not answer in time",
        ErrorKind.NETWORK: "could not be reached",
        ErrorKind.SERVER: "is in trouble",
        ErrorKind.PARSE: "gave what cannot be read",
        ErrorKind.BLOCKED_OR_EMPTY: "gave nothing",
    }
)
#: By kind: what a model may try, or should not try.
ADVICE = MappingProxyType(
    {
        ErrorKind.POLICY: "This address or domain may not be used. Do not try it in another form; use another source.",
        ErrorKind.BAD_REQUEST: "Asking the same again will not help. Change the query or the URL.",
        ErrorKind.AUTH: (
            "The web cannot be asked until the owner of the game sets it right. Answer without it, and say so."
        ),
        ErrorKind.QUOTA: "What may be used of the web is used up for now. Answer from what you have, and say so.",
        ErrorKind.RATE_LIMITED: "Too much was asked in a short time. Do not ask again in this turn.",
        ErrorKind.TIMEOUT: "It took too long. Try another page or a simpler query, once.",
        ErrorKind.NETWORK: "It cannot be reached at the moment. Try another page, or answer without it.",
        ErrorKind.SERVER: "The other side has a fault of its own. Try another page, or answer without it.",
        ErrorKind.PARSE: "What came back cannot be read. Try another page.",
        ErrorKind.BLOCKED_OR_EMPTY: (
            "Nothing came back, which does not mean there is nothing. Try other words or pages."
        ),
    }
)
NOTHING_FOUND = "Nothing was found. Try other words, fewer domains or a longer time range."


class _WithoutEmpty(BaseModel):
    """Leaves fields that say nothing out of the JSON a model is given; `model_dump` has them all."""

    model_config = ConfigDict(frozen=True)

    @model_serializer(mode="wrap", when_used="json")
    def _drop_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value not in (None, "", [])}


class SearchResultItem(_WithoutEmpty):
    """One hit and the number to cite it by."""

    citation_id: int
    title: str
    snippet: str
    url: str


class WebSearchToolResult(BaseModel):
    """Hits, what the model must know about the search itself, and the sources as lines of a footer.

    `message` holds no instructions: those stand in the system text (`assistant/loop/prompt.py`). The sources are the
    hits once more, for programs, and are left out of the JSON a model is given.
    """

    model_config = ConfigDict(frozen=True)

    results: list[SearchResultItem]
    message: str = ""
    sources: list[str] = []

    @model_serializer(mode="wrap", when_used="json")
    def _drop_sources(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        told: dict[str, Any] = serialize(self)
        return {name: told[name] for name in ("results", "message") if name == "results" or told[name]}


class OpenPageToolResult(_WithoutEmpty):
    """A page or the part of it that was asked for, or why there is none.

    `original_length` is of the whole page, when known; `truncated` when `content` is not all of it. It is
    cited by `citation_id`, the number it had in a search.
    """

    url: str
    title: str = ""
    content: str = ""
    content_length: int = 0
    original_length: int | None = None
    truncated: bool = False
    status: Literal["success", "error"] = "success"
    error: str = ""
    citation_id: int | None = None
    notes: list[str] = []


def advice(error: WebError, now: float) -> str:
    """Return what went wrong, what to do, and when it may work again; `now` in clock seconds."""
    parts = [f"{reason_of(error)}.", ADVICE[error.kind], _later(error.retry_at, now)]
    return " ".join(part for part in parts if part)


def reason_of(error: WebError) -> str:
    """Return what went wrong in our own words: provider and kind, without a full stop."""
    if error.told:
        return one_line(error.told[: 8 * MAX_REASON_CHARS], max_chars=MAX_REASON_CHARS).rstrip(".")
    if error.kind is ErrorKind.POLICY:
        return _REASONS[error.kind]
    return f"{error.provider or 'the web'} {_REASONS[error.kind]}"


def log_failure(tool: str, error: WebError) -> None:
    """Log the whole error for the owner; the model is told only a part. Refusals by policy are not logged here."""
    if error.kind is not ErrorKind.POLICY:
        _log.warn(
            "{tool} failed ({kind}, {provider}): {cause}",
            log_event="web_failed",
            tool=tool,
            kind=str(error.kind),
            provider=error.provider or "no provider",
            cause=error.message,
        )


def _later(retry_at: float | None, now: float) -> str:
    """Return a sentence on when to ask again, or "" when that is unknown or past."""
    if retry_at is None or retry_at <= now:
        return ""
    seconds = retry_at - now
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"It may work again in about {seconds / size:.0f} {name}."
    return f"It may work again in about {max(1, round(seconds))} seconds."
