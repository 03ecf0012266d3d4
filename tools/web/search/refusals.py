"""What an answer with an error status means, for APIs that say it in the usual ways."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from twisted.web.http_headers import Headers

from llm.error_bodies import read_error_body
from llm.rate_limits import Moment, retry_wish
from tools.clean import one_line
from tools.web.errors import Kind

MAX_SAID_CHARS = 200
_SERVER_ERROR = 500
#: reference/web-tools.md section 2: 432 and 433 are Tavily's. 408 and 425 are the server's wish for another time.
_KINDS = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.AUTH,
    407: Kind.NETWORK,
    408: Kind.TIMEOUT,
    425: Kind.SERVER,
    429: Kind.RATE_LIMITED,
    432: Kind.QUOTA,
    433: Kind.QUOTA,
    504: Kind.TIMEOUT,
}
_WORDS = {
    Kind.AUTH: "refused the key",
    Kind.QUOTA: "has no quota left",
    Kind.RATE_LIMITED: "is asked too fast",
    Kind.TIMEOUT: "gave up waiting",
    Kind.NETWORK: "is behind a proxy that refuses",
    Kind.BAD_REQUEST: "refused the request",
    Kind.SERVER: "is in trouble",
}
_KEY_LIKE = re.compile(r"\b(?:tvly|pplx|sk|BSA|jina)[-_]?[A-Za-z0-9_-]{12,}|(?i:bearer)\s+\S+")


class Answered(Protocol):
    """The part of a reply that is looked at."""

    @property
    def status(self) -> int:
        """Its HTTP status."""
        ...

    @property
    def headers(self) -> Headers:
        """Its headers."""
        ...

    @property
    def body(self) -> bytes:
        """Its body, or the beginning of it."""
        ...

    @property
    def at(self) -> float:
        """When it came, in clock seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """What went wrong, as the rest of a sentence that begins with the provider's name."""

    kind: Kind
    message: str
    retry_at: float | None = None


def kind_of(status: int) -> Kind:
    """Whose trouble an error status is."""
    return _KINDS.get(status) or (Kind.SERVER if status >= _SERVER_ERROR else Kind.BAD_REQUEST)


def refusal_of(reply: Answered) -> Refusal:
    """The refusal in an answer of any usual shape; when to come back is read off its headers."""
    return refusal(reply, said(read_error_body(reply.body).message), retry_wish(reply.headers, Moment(reply.at)))


def refusal(reply: Answered, message: str, retry_at: float | None = None, kind: Kind | None = None) -> Refusal:
    """The refusal of a status, with what the server said of it."""
    kind = kind or kind_of(reply.status)
    words = f"{_WORDS.get(kind, 'failed')} ({reply.status})"
    return Refusal(kind, f"{words}: {message}" if message else words, retry_at)


def said(text: str) -> str:
    """A server's words fit for a message: one clean line without anything that looks like a key."""
    return one_line(_KEY_LIKE.sub("[key]", text[: 8 * MAX_SAID_CHARS]), max_chars=MAX_SAID_CHARS)
