"""Admins who are logged in to the game's web site come in, with the rights that they have for the command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.contrib import auth
from django.contrib.auth import login, logout
from django.http import HttpRequest
from django.test import override_settings
from twisted.internet.defer import succeed
from twisted.internet.task import Clock

from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.page.ports import NotAllowed, Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.page.addresses import OwnAddresses
from mud_assistant.assistant.worlds.evennia.page.door import KEPT_SECONDS, GameDoor, secure_cookie
from tests.assistant.page.http.visiting import visiting
from tests.evennia.opened import reactor
from tests.evennia.village import Player, Village

pytestmark = pytest.mark.usefixtures("db")
T = TypeVar("T")


class Counted:
    """Does the work at once, on this thread: the tables of the tests are in the memory of its connection."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        self.count += 1
        return succeed(work())


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(clock: Clock, counted: Counted) -> Iterator[GameDoor]:
    made = GameDoor(OwnAddresses.of(["localhost"]), clock, counted)
    yield made
    made.close()


def web_session(player: Player | None) -> HttpRequest:
    """A browser's session at the game's web site, of somebody who has logged in."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore()
    if player is not None:
        login(request, player.account, backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session.save()
    return request


async def visits(door: GameDoor, request: HttpRequest) -> Visitor | None:
    cookies = {settings.SESSION_COOKIE_NAME: str(request.session.session_key)}
    return await door.visitor(cookies)


async def test_an_admin_is_an_operator_with_the_rights_of_the_account(door: GameDoor) -> None:
    admin = Village().player("Boss", "Admin")
    visitor = await visits(door, web_session(admin))
    assert visitor is not None
    assert visitor.role is VisitorRole.OPERATOR
    assert visitor.principal == principal_of(admin.account, admin.account)
    assert (visitor.name, visitor.principal.permission) == ("Boss", 4)


async def test_a_superuser_is_the_owner(door: GameDoor) -> None:
    visitor = await visits(door, web_session(Village().player("Root", superuser=True)))
    assert visitor is not None
    assert visitor.role is VisitorRole.OWNER


async def test_nobody_is_sent_to_the_log_in_page_of_the_game(door: GameDoor) -> None:
    assert await visits(door, web_session(None)) is None
    assert await door.visitor({}) is None
    assert await door.visitor({settings.SESSION_COOKIE_NAME: "x" * 32}) is None
    assert await door.visitor({settings.SESSION_COOKIE_NAME: "x" * 100_000}) is None
    assert door.login_url == "/auth/login/"


@pytest.mark.parametrize("permission", ["Player", "Helper", "Builder"])
async def test_players_are_told_who_may_come_in(door: GameDoor, permission: str) -> None:
    with pytest.raises(NotAllowed, match=r"^Ben may not see this page: it is for Admins"):
        await visits(door, web_session(Village().player("Ben", permission)))


@pytest.mark.parametrize("superuser", [False, True])
async def test_who_is_quelled_is_told_how_to_come_in(door: GameDoor, superuser: bool) -> None:
    admin = Village().player("Boss", "Admin", superuser=superuser)
    admin.account.execute_cmd("quell", session=admin.session)
    with pytest.raises(NotAllowed, match="Type unquell"):
        await visits(door, web_session(admin))


async def test_a_new_password_ends_the_sessions_of_the_old_one(door: GameDoor, clock: Clock) -> None:
    admin = Village().player("Boss", "Admin")
    session = web_session(admin)
    assert await visits(door, session) is not None
    admin.account.set_password("another password")
    admin.account.save()
    clock.advance(KEPT_SECONDS)
    assert await visits(door, session) is None


async def test_who_somebody_is_is_kept_for_half_a_minute_and_no_longer(
    door: GameDoor, clock: Clock, counted: Counted
) -> None:
    admin = Village().player("Boss", "Admin")
    session = web_session(admin)
    await visits(door, session)
    looked = counted.count
    admin.account.permissions.remove("Admin")
    clock.advance(KEPT_SECONDS - 0.1)
    assert await visits(door, session) is not None
    assert counted.count == looked
    clock.advance(0.1)
    with pytest.raises(NotAllowed):
        await visits(door, session)
    admin.account.permissions.add("Admin")
    clock.advance(KEPT_SECONDS)
    assert await visits(door, session) is not None


async def test_logging_out_counts_at_once(door: GameDoor) -> None:
    session = web_session(Village().player("Boss", "Admin"))
    assert await visits(door, session) is not None
    old = str(session.session.session_key)
    session.user = auth.get_user(session)
    logout(session)
    assert await door.visitor({settings.SESSION_COOKIE_NAME: old}) is None


async def test_logging_out_while_somebody_is_looked_up_counts_as_well(clock: Clock) -> None:
    session = web_session(Village().player("Boss", "Admin"))
    looks: list[Any] = []

    async def meanwhile(work: Callable[[], T], /) -> T:
        found = work()
        looks.append(found)
        if isinstance(found, Visitor):
            session.user = auth.get_user(session)
            logout(session)
        return found

    door = GameDoor(OwnAddresses.of([]), clock, meanwhile)
    try:
        cookies = {settings.SESSION_COOKIE_NAME: str(session.session.session_key)}
        await door.visitor(cookies)
        assert isinstance(looks[-1], Visitor)
        assert await door.visitor(cookies) is None
    finally:
        door.close()


async def test_sessions_that_are_made_up_take_no_more_room_than_a_thousand(door: GameDoor) -> None:
    for number in range(1100):
        await door.visitor({settings.SESSION_COOKIE_NAME: f"made-up-{number}"})
    assert len(door._kept) == 1000


async def test_a_session_that_came_by_https_is_sent_by_https_alone_from_then_on(door: GameDoor) -> None:
    session = web_session(Village().player("Boss", "Admin")).session.session_key
    named, stranger = Proxies(["127.0.0.1"]), Proxies(["10.0.0.1"])
    for proxies, scheme, is_marked in ((named, "https", True), (named, "http", False), (stranger, "https", False)):
        async with visiting(reactor, door=door, proxies=proxies, secure_cookie=secure_cookie) as page:
            page.cookie = f"{settings.SESSION_COOKIE_NAME}={session}"
            got = await page.get("/", x_forwarded_proto=scheme)
            assert got.status == 200
            assert ("set-cookie" in got.headers) is is_marked
            if is_marked:
                cookie, *flags = got.headers["set-cookie"].split("; ")
                assert cookie == page.cookie
                assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= {*flags}
            page.cookie = ""
            assert "set-cookie" not in (await page.get("/", x_forwarded_proto=scheme)).headers
    with override_settings(SESSION_COOKIE_SECURE=True):  # Django marks it already
        assert secure_cookie({settings.SESSION_COOKIE_NAME: str(session)}) == ""
