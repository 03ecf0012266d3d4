"""Tells a request of our own page from one that another site made a browser send.

A change needs three things: an Origin of our own where one is sent, a Sec-Fetch-Site that says so where one is sent,
and a token that only our pages know. A caller with a bearer token needs none: no other site can make a browser send it.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256

from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.http_server.token_bucket import TokenBuckets
from mud_assistant.assistant.page.http.errors import HttpRefusal, too_many
from mud_assistant.assistant.page.http.incoming import Incoming
from mud_assistant.assistant.page.ports import Door, NotAllowed, Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.tools import Kind, Principal

_OWN_SITES = frozenset({"same-origin", "none"})
#: The field of a form that holds the token.
CSRF_FIELD = "csrf"
#: Wrong tokens of one address in a minute.
TRIES_A_MINUTE = 5
#: The step of the game's ladder that a role stands for where no account of a game does.
PERMISSIONS = {VisitorRole.VIEWER: 1, VisitorRole.OPERATOR: 4, VisitorRole.OWNER: 5}


def check_host(door: Door, incoming: Incoming) -> None:
    """Refuse a request for a host that is not ours: a name that was made to lead here (DNS rebinding)."""
    if not incoming.host or not door.is_own_host(incoming.host):
        sentence = "This page is not served under that name. Open its own address, or put the name into [page] hosts."
        raise HttpRefusal(421, "Wrong host", sentence)


def check_sender(door: Door, incoming: Incoming) -> None:
    """Refuse a change that did not come from a page of ours. Raises NotAllowed."""
    if incoming.origin and not door.is_own_origin(incoming.origin, incoming.host):
        raise NotAllowed("The request came from another site.")
    if incoming.fetch_site and incoming.fetch_site not in _OWN_SITES:
        raise NotAllowed("The request came from another site.")


class Csrf:
    """Makes and checks the token of a form: it holds for one session, until the server ends."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:  # noqa: PLR2004  (128 bits)
            raise ValueError("the secret must have at least 16 bytes")
        self._secret = secret

    def token(self, session: str) -> str:
        """Return the token of a session."""
        return hmac.digest(self._secret, session.encode("utf-8", "surrogatepass"), "sha256").hex()

    def check(self, session: str, sent: str) -> None:
        """Compare in constant time. Raises NotAllowed when it is not the session's."""
        if not hmac.compare_digest(self.token(session).encode(), sent.encode("utf-8", "surrogatepass")):
            raise NotAllowed("The form is too old, or is not ours. Load the page again, then send it again.")


def hash_token(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal, which is what is kept of it."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class BearerTokens:
    """The tokens that programs may use, each with a role and a name, whatever door stands there for people."""

    def __init__(self, clock: IReactorTime) -> None:
        self._tries = TokenBuckets(clock.seconds, TRIES_A_MINUTE / 60, TRIES_A_MINUTE)
        self._tokens: list[tuple[bytes, VisitorRole, str]] = []

    def use(self, tokens: Iterable[tuple[str, VisitorRole, str]]) -> None:
        """Let in (SHA-256 of the token in hexadecimal, role, name) from now on."""
        self._tokens = [(digest.lower().encode("ascii"), role, name) for digest, role, name in tokens]

    def visitor(self, token: str, address: str) -> Visitor | None:
        """Return whose token it is, None for nobody's. Raises HttpRefusal after 5 wrong ones of an address.

        Every hash is compared, in constant time. A right token is let in however many wrong ones came before: they may
        be those of somebody else.
        """
        sent = hash_token(token).encode("ascii")
        found: Visitor | None = None
        for digest, role, name in self._tokens:
            if hmac.compare_digest(digest, sent):
                principal = Principal(f"token:{name}", name, Kind.OPERATOR, PERMISSIONS[role])
                found = Visitor(principal, role, f"token:{name}")
        if found is None and (seconds := self._tries.take(address)):
            raise too_many(seconds)
        return found
