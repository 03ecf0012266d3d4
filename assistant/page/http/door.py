"""The door of a page outside games: an address with a token that is good for one log-in, then a cookie."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.http_server.addresses import HTTP_PORT, is_loopback, split_host
from mud_assistant.assistant.http_server.token_bucket import TokenBuckets
from mud_assistant.assistant.page.http.call import JSON, PageCall, PublicCall, PublicRoute, Reply, Route, redirect
from mud_assistant.assistant.page.http.errors import too_many
from mud_assistant.assistant.page.http.guard import PERMISSIONS, TRIES_A_MINUTE, hash_token
from mud_assistant.assistant.page.ports import Unauthenticated, Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.tools import Kind, Principal

#: A session ends when it was not used for this many seconds.
SESSION_SECONDS = 12 * 3600.0
MAX_SESSIONS = 20
#: The bytes of a token.
_TOKEN_BYTES = 32
_OPERATOR = Principal("operator", "operator", Kind.OPERATOR, PERMISSIONS[VisitorRole.OWNER])


class StandaloneDoor:
    """Lets in who has the printed address, as an owner.

    `random_bytes` is like `secrets.token_bytes`. `names` are further hosts, such as those of a proxy; each is good
    with any port and without. Only hashes of tokens are kept. At most 20 sessions are open: a further one ends the one
    that was used longest ago.
    """

    def __init__(
        self,
        clock: IReactorTime,
        random_bytes: Callable[[int], bytes],
        *,
        port: int = 0,
        names: Iterable[str] = (),
    ) -> None:
        self._clock = clock
        self._random_bytes = random_bytes
        #: The port that is listened on; the caller sets it when the system chose one.
        self.port = port
        self._names = frozenset(split_host(name)[0] for name in names)
        self._tries = TokenBuckets(clock.seconds, TRIES_A_MINUTE / 60, TRIES_A_MINUTE)
        #: The hash of the token that waits for its log-in; empty for none.
        self._waiting = ""
        #: When each session was last used, by the hash of its cookie; the last used is last.
        self._sessions: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        """Return how many sessions are open."""
        return len(self._sessions)

    @property
    def login_url(self) -> str:
        """The path of the log-in page."""
        return "/login"

    @property
    def cookie_name(self) -> str:
        """The cookie's name. It has the port in it: a browser sends cookies to every port of a host."""
        return f"mud_assistant_{self.port}"

    def new_address(self) -> str:
        """Return an address that is good for one log-in. An earlier one that was not used is good no longer."""
        token = self._new_token()
        self._waiting = hash_token(token)
        return f"http://127.0.0.1:{self.port}/#token={token}"

    def is_own_host(self, host: str) -> bool:
        """Tell whether a Host header is of this machine with our port, or a configured name."""
        name, port = split_host(host)
        return name in self._names or (is_loopback(name) and (port or HTTP_PORT) == str(self.port))

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Tell whether an Origin is that of the host asked; a proxy before a configured name may speak HTTPS."""
        schemes = ("http://",) if is_loopback(split_host(host)[0]) else ("http://", "https://")
        return self.is_own_host(host) and origin in {scheme + host for scheme in schemes}

    async def visitor(self, cookies: Mapping[str, str]) -> Visitor | None:
        """Return whose cookie it is, None for nobody's."""
        session = hash_token(cookies.get(self.cookie_name, ""))
        used = self._sessions.get(session)
        if used is None:
            return None
        if self._clock.seconds() - used > SESSION_SECONDS:
            del self._sessions[session]
            return None
        self._use(session)
        return Visitor(_OPERATOR, VisitorRole.OWNER, session)

    def log_in(self, token: str, address: str, *, is_https: bool = False) -> str:
        """Swap the token for a cookie; return the Set-Cookie header. Raises Unauthenticated; HttpRefusal after 5 tries.

        Who came by HTTPS gets a cookie that is never sent without it.
        """
        is_right = hmac.compare_digest(hash_token(token).encode(), (self._waiting or "-" * 64).encode())
        if not is_right or not self._waiting:
            # A right one is let in however many came before: they may be those of somebody else.
            if seconds := self._tries.take(address):
                raise too_many(seconds)
            raise Unauthenticated("This address was used already, or is not the one that was printed last.")
        self._waiting = ""
        cookie = self._new_token()
        self._use(hash_token(cookie))
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return f"{self.cookie_name}={cookie}; HttpOnly; SameSite=Strict; Path=/{'; Secure' if is_https else ''}"

    def log_out(self, session: str) -> str:
        """End a session by the id that its visitor has; return the Set-Cookie header that removes the cookie."""
        self._sessions.pop(session, None)
        return f"{self.cookie_name}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"

    def _use(self, session: str) -> None:
        self._sessions[session] = self._clock.seconds()
        self._sessions.move_to_end(session)

    def _new_token(self) -> str:
        return urlsafe_b64encode(self._random_bytes(_TOKEN_BYTES)).rstrip(b"=").decode("ascii")


def own_path(text: str) -> str:
    """Return `text` if it is a path of this server, else the path of the first page."""
    is_own = text.startswith("/") and text[1:2] not in {"/", "\\"} and text.isascii() and text.isprintable()
    return text if is_own else "/"


def login_routes(door: StandaloneDoor, draw: Callable[[str], bytes]) -> list[PublicRoute]:
    """Return the paths of the log-in: the page, and what takes the token.

    `draw` makes the page from the path to go to afterwards. Its form posts `token` and `next` to /login, its script
    the same as JSON.
    """

    async def page(call: PublicCall) -> Reply:
        return Reply(draw(own_path(call.fields.get("next", "/"))))

    async def log_in(call: PublicCall) -> Reply:
        token = call.fields.get("token", "").strip().rpartition("token=")[2]
        cookie = ("Set-Cookie", door.log_in(token, call.address, is_https=call.is_https))
        to = own_path(call.fields.get("next", "/"))
        if call.is_json:
            # own_path leaves nothing that JSON would have to escape but quotes and backslashes.
            body = '{"next":"' + to.replace("\\", "\\\\").replace('"', '\\"') + '"}'
            return Reply(body.encode(), content_type=JSON, headers=(cookie,))
        return Reply(status=303, headers=(("Location", to), cookie))

    return [PublicRoute("GET", "/login", page), PublicRoute("POST", "/login", log_in)]


def logout_route(door: StandaloneDoor, end_session: Callable[[str], None] = lambda _: None) -> Route:
    """Return the route that ends the visitor's session: a form that posts to /logout.

    `end_session` is told of it, and ends what still goes on for that session.
    """

    async def log_out(call: PageCall) -> Reply:
        end_session(call.visitor.session)
        reply = redirect("/login")
        return Reply(status=reply.status, headers=(*reply.headers, ("Set-Cookie", door.log_out(call.visitor.session))))

    return Route("POST", "/logout", log_out)
