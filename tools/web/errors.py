"""The one error of the web tools, with a kind that says whether the owner, the model or time can mend it.

WebError
├── POLICY             the address, the port or the domain is not allowed; no request was sent
├── BAD_REQUEST        the query or the page was refused; the same request will be refused again
├── AUTH               the key is missing, wrong or not allowed to do this
├── QUOTA              the quota is used up; retry_at when the provider said until when
├── RATE_LIMITED       too many requests; retry_at when the provider said until when
├── TIMEOUT            no answer in time
├── NETWORK            the server could not be reached, or the connection broke
├── SERVER             the server answered 5xx
├── PARSE              the answer cannot be read
└── BLOCKED_OR_EMPTY   no hits or text came, and the provider cannot tell "nothing there" from "blocked"
"""

from __future__ import annotations

from enum import StrEnum


class ErrorKind(StrEnum):
    """What went wrong, and so whether the owner, the model or time can mend it."""

    POLICY = "policy"
    BAD_REQUEST = "bad_request"
    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    NETWORK = "network"
    SERVER = "server"
    PARSE = "parse"
    BLOCKED_OR_EMPTY = "blocked_or_empty"


#: Kinds after which the next provider is tried. A wrong query and a refused address stay so everywhere.
FALLS_THROUGH = frozenset(ErrorKind) - {ErrorKind.POLICY, ErrorKind.BAD_REQUEST}


class WebError(Exception):
    """An error of a search or a page.

    `message` is one sentence for the owner, without keys; it may hold addresses and file names. `told` is the sentence
    for a model, in our own words only; when it is empty, the model is told the kind's sentence (`results.reason_of`).
    `retry_at` is in clock seconds, None when the provider did not say.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, provider: str = "", retry_at: float | None = None, told: str = ""
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.provider = provider
        self.retry_at = retry_at
        self.told = told
