"""What goes wrong on the web: one error with a kind, which says who can do something about it.

WebError
├── POLICY             the address, the port or the domain is not allowed; nothing was asked
├── BAD_REQUEST        the query or the page was refused; asking again as it is will not help
├── AUTH               the key is missing, wrong or not allowed to do this
├── QUOTA              what was paid for is used up; retry_at when the provider said until when
├── RATE_LIMITED       too fast; retry_at when the provider said
├── TIMEOUT            no answer in time
├── NETWORK            it could not be reached, or the connection broke
├── SERVER             it answered 5xx
├── PARSE              it answered what nobody can read
└── BLOCKED_OR_EMPTY   nothing came back, and the provider cannot say whether there is nothing or it is blocked
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """Whose trouble it is."""

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


#: What another provider may do better (reference/web-tools.md section 5). A wrong query stays wrong elsewhere.
FALLS_THROUGH = frozenset(Kind) - {Kind.POLICY, Kind.BAD_REQUEST}


class WebError(Exception):
    """`message` is one sentence without keys, for the owner: it may hold addresses and file names.

    `told` is what a model is told instead, a sentence of our own words only; empty: what its kind says
    (`advice.reason_of`). `retry_at` is in clock seconds, None when nobody said.
    """

    def __init__(
        self, kind: Kind, message: str, *, provider: str = "", retry_at: float | None = None, told: str = ""
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.provider = provider
        self.retry_at = retry_at
        self.told = told
