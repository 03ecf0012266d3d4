"""Tells a request of our own page from one that another site made a browser send.

A change needs three things: an Origin of our own where one is sent, a Sec-Fetch-Site that says so where one is sent,
and a token that only our pages know. A caller with a bearer token needs none: no other site can make a browser send it.
"""

from __future__ import annotations

import hmac

from assistant.page.http.errors import HttpRefusal
from assistant.page.http.incoming import Incoming
from assistant.page.ports import Door, NotAllowed

_OWN_SITES = frozenset({"same-origin", "none"})
#: The field of a form that holds the token.
CSRF_FIELD = "csrf"


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
