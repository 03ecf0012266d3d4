"""A door that lets programs in too: with the tokens of the settings, whatever door stands there for people."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256

from twisted.internet.interfaces import IReactorTime

from assistant.http_server.token_bucket import TokenBuckets
from assistant.page.http.errors import too_many
from assistant.page.ports import Door, Visitor
from assistant.page.values.common import VisitorRole
from tools import Kind, Principal

#: Wrong tokens of one address in a minute.
_TRIES = 5


class TokenDoor:
    """A door that lets in programs with the tokens of [page] too. Call `use` once they were read."""

    def __init__(self, door: Door, clock: IReactorTime) -> None:
        self._door = door
        self._bearers = BearerTokens()
        self._tries = TokenBuckets(clock.seconds, _TRIES / 60, _TRIES)

    def use(self, bearers: BearerTokens) -> None:
        """Let these tokens in from now on."""
        self._bearers = bearers

    @property
    def login_url(self) -> str:
        """The path of the log-in page, empty for none."""
        return self._door.login_url

    def is_own_host(self, host: str) -> bool:
        """Tell whether a Host header is one that this page answers to."""
        return self._door.is_own_host(host)

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Tell whether an Origin header is this page's own."""
        return self._door.is_own_origin(origin, host)

    async def visitor(self, cookies: Mapping[str, str], bearer: str, address: str) -> Visitor | None:
        """Return who sends a request, None for nobody. Raises NotAllowed, and HttpRefusal after 5 wrong tokens.

        A right token is let in however many wrong ones came before: they may be those of somebody else.
        """
        if not bearer:
            return await self._door.visitor(cookies, bearer, address)
        found = self._bearers.visitor(bearer)
        if found is None and (seconds := self._tries.take(address)):
            raise too_many(seconds)
        return found


#: The step of the game's ladder that a role stands for where no account of a game does.
PERMISSIONS = {VisitorRole.VIEWER: 1, VisitorRole.OPERATOR: 4, VisitorRole.OWNER: 5}


def hash_token(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal, which is what is kept of it."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class BearerTokens:
    """The tokens that programs may use, each with a role and a name. Works in the door of a game too."""

    def __init__(self, tokens: Iterable[tuple[str, VisitorRole, str]] = ()) -> None:
        """Take (SHA-256 of the token in hexadecimal, role, name) for each token."""
        self._tokens = [(digest.lower().encode("ascii"), role, name) for digest, role, name in tokens]

    def visitor(self, token: str) -> Visitor | None:
        """Return whose token it is, None for a token that is not known. Every hash is compared, in constant time."""
        sent = hash_token(token).encode("ascii")
        found: Visitor | None = None
        for digest, role, name in self._tokens:
            if hmac.compare_digest(digest, sent):
                principal = Principal(f"token:{name}", name, Kind.OPERATOR, PERMISSIONS[role])
                found = Visitor(principal, role, f"token:{name}")
        return found
