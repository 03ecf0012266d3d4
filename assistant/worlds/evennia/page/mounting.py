"""Hangs the operator's page into the game's web server, which the Portal's proxy shows to browsers."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from twisted.internet.defer import Deferred

from mud_assistant.assistant.page.site import SiteOptions, make_site
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.console import web_address
from mud_assistant.assistant.worlds.evennia.page.addresses import OwnAddresses
from mud_assistant.assistant.worlds.evennia.page.door import GameDoor, secure_cookie
from mud_assistant.assistant.worlds.evennia.page.threads import DatabaseThreads
from mud_assistant.assistant.worlds.evennia.page.world import GameHost

_PATH = web_address.PREFIX.strip("/").encode()


class MountedPage:
    """The page in a running game. Call `close` before the service ends."""

    # Any: the root of Evennia's web server, and the reactor.
    def __init__(self, web_root: Any, reactor: Any) -> None:
        self._web_root = web_root
        self._threads = DatabaseThreads(reactor)
        self._door = GameDoor(own_addresses(), reactor, self._threads)
        host = GameHost(reactor, self._threads)
        self.site = make_site(
            server.service(), host, self._door, web_address.PREFIX, SiteOptions(secure_cookie=secure_cookie)
        )
        web_root.putChild(_PATH, self.site)

    def close(self) -> Deferred[None]:
        """Take the page down: its streams end and no request reaches it any more. Fires when all requests are over."""
        if self._web_root.children.get(_PATH) is self.site:
            self._web_root.delEntity(_PATH)
        self._door.close()
        over = self.site.close()
        self._threads.close()
        return over


def mount(web_root: Any, reactor: Any) -> MountedPage | None:
    """Hang the page into a web server, unless there is none or the settings want no page; None then."""
    if web_root is None or not server.is_open() or not web_address.is_page_on():
        return None
    return MountedPage(web_root, reactor)


def own_addresses() -> OwnAddresses:
    """Return the names and origins that the game's settings give its web site."""
    names = (settings.SERVER_HOSTNAME, *settings.ALLOWED_HOSTS, *web_address.page_hosts())
    return OwnAddresses.of(names, getattr(settings, "CSRF_TRUSTED_ORIGINS", ()))
