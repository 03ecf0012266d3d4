"""Reads what an answer with an error status means, for APIs that say it in the usual ways."""

from __future__ import annotations

import re
from typing import Protocol

from msgspec import Struct
from twisted.web.http_headers import Headers

from mud_assistant.llm.wire.error_bodies import read_error_body
from mud_assistant.llm.wire.error_kinds import BLOCKED
from mud_assistant.llm.wire.rate_limits import Moment, retry_wish
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind

MAX_SAID_CHARS = 200
_SERVER_ERROR, _FORBIDDEN = 500, 403
#: 432 and 433 are Tavily's. With 408 and 425 the server asks for another time.
_KINDS = {
    401: ErrorKind.AUTH,
    402: ErrorKind.QUOTA,
    403: ErrorKind.AUTH,
    407: ErrorKind.NETWORK,
    408: ErrorKind.TIMEOUT,
    425: ErrorKind.SERVER,
    429: ErrorKind.RATE_LIMITED,
    432: ErrorKind.QUOTA,
    433: ErrorKind.QUOTA,
    504: ErrorKind.TIMEOUT,
}
_WORDS = {
    ErrorKind.AUTH: "refused the key",
    ErrorKind.QUOTA: "has no quota left",
    ErrorKind.RATE_LIMITED: "is asked too fast",
    ErrorKind.TIMEOUT: "gave up waiting",
    ErrorKind.NETWORK: "is behind a proxy that refuses",
    ErrorKind.BAD_REQUEST: "refused the request",
    ErrorKind.SERVER: "is in trouble",
    ErrorKind.BLOCKED_OR_EMPTY: "does not read this page",
}
#: What a 403 of a bot filter, or for a region, means.
_TURNED_AWAY = "turns us away before it looks at the key"
#: How Tavily and others word the refusal of one page.
_ABOUT_THE_PAGE = re.compile(
    r"\b(urls?|pages?|sites?|websites?|domains?|hosts?|robots)\b.{0,80}"
    r"\b(not (be )?(supported|allowed|permitted|accessible)|unsupported|blocked|forbidden|denied|disallowed?)"
    r"|\b(unsupported|blocked|forbidden|disallowed) (urls?|pages?|sites?|websites?|domains?|hosts?)\b",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(r"\b(?:tvly|pplx|sk|BSA|jina)[-_]?[A-Za-z0-9_-]{12,}|(?i:bearer)\s+\S+")


class ApiAnswer(Protocol):
    """The parts of a reply that are read here."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Headers:
        """The headers."""
        ...

    @property
    def body(self) -> bytes:
        """The body, or the beginning of it."""
        ...

    @property
    def at(self) -> float:
        """When the reply came, in clock seconds."""
        ...


class Refusal(Struct, frozen=True):
    """A refusal. `message` is the rest of a sentence that begins with the provider's name.

    `retry_at` is in clock seconds, None when the server did not say.
    """

    kind: ErrorKind
    message: str
    retry_at: float | None = None


def kind_of(status: int) -> ErrorKind:
    """Return the kind of an error status."""
    return _KINDS.get(status) or (ErrorKind.SERVER if status >= _SERVER_ERROR else ErrorKind.BAD_REQUEST)


def refusal_of(reply: ApiAnswer) -> Refusal:
    """Return the refusal in an answer of any usual shape; its headers say when to come back."""
    body = read_error_body(reply.body)
    return refusal(
        reply, clean_message(body.message), retry_wish(reply.headers, Moment(reply.at)), is_page=body.is_page
    )


def refusal(
    reply: ApiAnswer,
    message: str,
    retry_at: float | None = None,
    kind: ErrorKind | None = None,
    *,
    is_page: bool = False,
) -> Refusal:
    """Return the refusal for a status, with the server's own message. `is_page`: it was in a page for people."""
    kind = kind or (_forbidden(message, is_page=is_page) if reply.status == _FORBIDDEN else kind_of(reply.status))
    meaning = _TURNED_AWAY if kind is ErrorKind.SERVER and reply.status == _FORBIDDEN else _WORDS.get(kind, "failed")
    words = f"{meaning} ({reply.status})"
    return Refusal(kind, f"{words}: {message}" if message else words, retry_at)


def _forbidden(message: str, *, is_page: bool) -> ErrorKind:
    """Return the kind of a 403: AUTH only when the message speaks of nothing else."""
    if is_page or BLOCKED.search(message):
        return ErrorKind.SERVER
    return ErrorKind.BLOCKED_OR_EMPTY if _ABOUT_THE_PAGE.search(message) else ErrorKind.AUTH


def clean_message(text: str) -> str:
    """Return a server's words fit for a message: one clean line without anything that looks like a key."""
    return one_line(_KEY_LIKE.sub("[key]", text[: 8 * MAX_SAID_CHARS]), max_chars=MAX_SAID_CHARS)
