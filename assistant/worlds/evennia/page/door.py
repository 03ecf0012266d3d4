"""Lets accounts of the game in to the page: whoever is logged in to the game's web site and is an Admin of the game."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.page.ports import NotAllowed, Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.commands.assistant import CmdAssistant
from mud_assistant.assistant.worlds.evennia.page.addresses import OwnAddresses

#: How long who somebody is counts without being looked up again, in seconds.
KEPT_SECONDS = 30.0
#: The most sessions that are remembered at once.
_MOST_KEPT = 1000
_LONGEST_COOKIE = 4096
_QUELLED = (
    "{name} is quelled in the game, so the page is closed to them. Type unquell in the game, and come back in half a "
    "minute."
)
_NO_ADMIN = (
    "{name} may not see this page: it is for Admins of the game, who may use the command assistant there. Log in to "
    "the web site with another account, or ask the owner of the game for the permission."
)
T = TypeVar("T")


class InThread(Protocol):
    """Does work with the game's database in a thread."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what `work` returns, or raise its error."""
        ...


class GameDoor:
    """The door of a game. Who somebody is is asked of the game's database, and kept for half a minute.

    Logging in or out of the web site counts at once. Call `close` when the page is taken down.
    """

    def __init__(self, own: OwnAddresses, clock: IReactorTime, in_thread: InThread) -> None:
        self.own = own
        self._clock = clock
        self._in_thread = in_thread
        #: By the digest of a session's cookie: until when it counts, and the visitor, a refusal, or None for nobody.
        self._kept: dict[str, tuple[float, Visitor | str | None]] = {}
        self._changes = 0
        self._login_url = ""
        for signal in (user_logged_in, user_logged_out):
            signal.connect(self._forget, weak=False, dispatch_uid=id(self))

    def close(self) -> None:
        """Hear no more of who logs in and out."""
        for signal in (user_logged_in, user_logged_out):
            signal.disconnect(dispatch_uid=id(self))
        self._forget()

    @property
    def login_url(self) -> str:
        """The log-in page of the game's web site. Known once somebody was looked up."""
        return self._login_url

    def is_own_host(self, host: str) -> bool:
        """Tell whether a Host header is one of the game's web site."""
        return self.own.is_own_host(host)

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Tell whether an Origin header is the game's web site."""
        return self.own.is_own_origin(origin, host)

    async def visitor(self, cookies: Mapping[str, str]) -> Visitor | None:
        """Return who sends a request, None for nobody. Raises NotAllowed for players, and Unavailable."""
        if not self._login_url:
            self._login_url = await self._in_thread(_find_login_url)
        cookie = cookies.get(settings.SESSION_COOKIE_NAME, "")
        if not cookie or len(cookie) > _LONGEST_COOKIE:
            return None
        found = await self._find(cookie)
        if isinstance(found, str):
            raise NotAllowed(found)
        return found

    async def _find(self, cookie: str) -> Visitor | str | None:
        """Return whose session this is: as remembered, else as the database has it."""
        session = hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
        until, found = self._kept.get(session, (0.0, None))
        if self._clock.seconds() < until:
            return found
        began, changes = self._clock.seconds(), self._changes
        found = await self._in_thread(partial(find_visitor, cookie, session))
        if changes == self._changes:  # else somebody logged in or out meanwhile
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept.pop(session, None)
            self._kept[session] = (began + KEPT_SECONDS, found)
        return found

    # Any: Django's signals hand over what they like. They are sent in the threads of the web server.
    def _forget(self, **_: Any) -> None:
        """Look everybody up again."""
        self._changes += 1
        self._kept = {}


def find_visitor(cookie: str, session: str) -> Visitor | str | None:
    """Return the visitor with this session of Django, why they may not come in, or None for nobody. Blocks."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(cookie)
    account = get_user(request)
    if not account.is_authenticated or not hasattr(account, "locks"):
        return None
    if account.attributes.get("_quell"):
        return _QUELLED.format(name=account.key)
    if not account.locks.check_lockstring(account, CmdAssistant.locks, access_type="cmd"):
        return _NO_ADMIN.format(name=account.key)
    if account.is_banned(username=account.key):
        return _NO_ADMIN.format(name=account.key)
    role = VisitorRole.OWNER if account.is_superuser else VisitorRole.OPERATOR
    return Visitor(principal_of(account, account), role, session)


def secure_cookie(cookies: Mapping[str, str]) -> str:
    """Return the Set-Cookie header by which a browser sends the session of the web site over HTTPS alone.

    Empty where the game's settings see to that, or there is no session.
    """
    name, age = settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_AGE
    if settings.SESSION_COOKIE_SECURE or not cookies.get(name):
        return ""
    response = HttpResponse()
    response.set_cookie(
        name, cookies[name], max_age=None if settings.SESSION_EXPIRE_AT_BROWSER_CLOSE else age, secure=True,
        domain=settings.SESSION_COOKIE_DOMAIN, path=settings.SESSION_COOKIE_PATH,
        httponly=settings.SESSION_COOKIE_HTTPONLY, samesite=settings.SESSION_COOKIE_SAMESITE,
    )  # fmt: skip
    return str(response.cookies[name].OutputString())


def _find_login_url() -> str:
    """Return the path of the log-in page. Blocks: it may load all of the game's web site."""
    return str(resolve_url(settings.LOGIN_URL))
