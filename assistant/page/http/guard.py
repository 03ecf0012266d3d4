"""Tells a request of our own page from one that another site made a browser send.

A change needs three things: an Origin of our own where one is sent, a Sec-Fetch-Site that says so where one is sent,
and a token that only our pages know. A caller with a bearer token needs none: no other site can make a browser send it.
"""

from __future__ import annotations

import hmac
from collections import OrderedDict

from twisted.internet.interfaces import IReactorTime

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


class TokenBuckets:
    """A token bucket for each key: `rate` requests a second on average, `burst` at once.

    At most `max_keys` are known. The one that was used longest ago is forgotten first, which by then is mostly full.
    """

    def __init__(self, clock: IReactorTime, rate: float, burst: int, max_keys: int = 1_000) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._max_keys = max_keys
        #: What is left of each bucket, and when that was so in seconds of the clock. The last used is last.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        """Return how many keys are known."""
        return len(self._left)

    def wait(self, key: str) -> float:
        """Return the seconds until `key` may ask again, 0 for now. Takes nothing."""
        return max(0.0, (1.0 - self._now(key)) / self._rate)

    def take(self, key: str) -> float:
        """Take one request of `key` and return 0, or return the seconds to wait when there is none left."""
        left = self._now(key)
        if left < 1.0:
            return (1.0 - left) / self._rate
        self._left[key] = (left - 1.0, self._clock.seconds())
        self._left.move_to_end(key)
        if len(self._left) > self._max_keys:
            self._left.popitem(last=False)
        return 0.0

    def _now(self, key: str) -> float:
        left, since = self._left.get(key, (float(self._burst), 0.0))
        return min(float(self._burst), left + max(0.0, self._clock.seconds() - since) * self._rate)
