"""Opens a page outside games, and says where it is."""

from __future__ import annotations

import secrets
from typing import Any

from twisted.internet.error import CannotListenError

from mud_assistant.assistant.config.sections import PageConfig
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.http_server.addresses import is_loopback
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.page.http.door import StandaloneDoor, login_routes, logout_route
from mud_assistant.assistant.page.http.listener import page_listener
from mud_assistant.assistant.page.ports import PageHost
from mud_assistant.assistant.page.site import OperatorPage, SiteOptions, make_site
from mud_assistant.assistant.page.views.door import login_page
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.standalone import Standalone

#: Told before the address.
OPEN_IT = "The operator's page is open. This address is good for one log-in:"
_TAKEN = (
    "the page cannot be opened at port {port} of {interface}: {why}. Another program has it, maybe a page that still "
    "runs: choose another with --port, or 0 for any that is free"
)
_NO_HOSTS = (
    "[page] interface = {interface!r} would show the page to the network. Name in [page] hosts under which names it "
    "may be opened, such as that of the proxy with HTTPS in front of it; or leave interface out"
)


class PageNotOpened(AssistantError):
    """The page cannot be opened; the message says why, and what to do."""


class StandingPage:
    """A page with a listener of its own. Call `close` before the service ends."""

    # Any: the reactor as clock and as maker of connections.
    def __init__(
        self,
        reactor: Any,
        service: AssistantService,
        host: PageHost,
        config: PageConfig,
        *,
        journal: JournalPlace | None = None,
    ) -> None:
        self._config = config
        self._door = StandaloneDoor(reactor, secrets.token_bytes, names=config.hosts)
        leaving = logout_route(self._door, self._end_session)
        options = SiteOptions((leaving,), login_routes(self._door, login_page), journal=journal)
        self.site: OperatorPage = make_site(service, host, self._door, "", options)
        self._listener = page_listener(reactor, self.site, reactor)

    def _end_session(self, session: str) -> None:
        self.site.end_session(session)

    def open(self) -> str:
        """Listen, and return an address that is good for one log-in. Raises PageNotOpened."""
        port, interface = self._config.port, self._config.interface
        if not is_loopback(interface) and not self._config.hosts:
            raise PageNotOpened(_NO_HOSTS.format(interface=interface))
        try:
            self._door.port = self._listener.start(port, interface).port
        except CannotListenError as error:
            why = getattr(error.socketError, "strerror", None) or str(error.socketError)
            raise PageNotOpened(_TAKEN.format(port=port, interface=interface, why=why)) from error
        return self.new_address()

    def new_address(self) -> str:
        """Return an address that is good for one more log-in; the one before, if it was not used, is good no longer."""
        return self._door.new_address()

    async def close(self) -> None:
        """Listen no more, and end what is open. What waits to be sent then may still go out for a second."""
        await self._listener.close()


def open_page(program: Standalone, host: PageHost, journal: JournalPlace | None = None) -> None:
    """Open the page of a program until it ends, and say where it is. Raises PageNotOpened."""
    page = StandingPage(program.reactor, program.service, host, program.service.config.settings.page, journal=journal)
    program.closing.push_async_callback(page.close)
    program.progress.note(f"{OPEN_IT}\n  {page.open()}")
