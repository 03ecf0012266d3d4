"""The plugin through which Evennia starts and stops the service with the Server process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.application.service import IServiceCollection, Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from mud_assistant.assistant.service.closing import within
from mud_assistant.assistant.worlds.evennia import server

if TYPE_CHECKING:
    from mud_assistant.assistant.worlds.evennia.page.mounting import MountedPage

#: How long cancelled commands may take to end, in seconds; the service then has the rest of the half second.
WORK_SECONDS = 0.05
_log = Logger()


class EvenniaService(Service):
    """Keeps the service open while the Server runs."""

    name = "mud-assistant"

    # Any: the root of Evennia's web server; None where the game has none.
    def __init__(self, web_root: Any = None) -> None:
        self._web_root = web_root
        self._page: MountedPage | None = None

    def startService(self) -> None:
        """Open the service and its page. A fault is logged and reported by `assistant/doctor`; the game starts."""
        from twisted.internet import reactor  # noqa: TID251  (the composition root)

        super().startService()  # type: ignore[no-untyped-call]  # Service has no types
        server.open_service()
        if self._web_root is not None:
            self._page = _mount_page(self._web_root, reactor)

    def stopService(self) -> Deferred[None]:
        """Close the service. Fires within half a second, when runs are suspended and the journal is closed.

        If the Server took longer to end, the Portal would think that it still runs, and start no other.
        """
        super().stopService()  # type: ignore[no-untyped-call]  # the same
        page, self._page = self._page, None
        return Deferred.fromCoroutine(_close(page))


def _mount_page(web_root: Any, reactor: Any) -> MountedPage | None:
    """Hang the page into the web server. A fault is logged: it must not keep the game from starting."""
    try:
        # Evennia's own API is still empty while it loads this module.
        from mud_assistant.assistant.worlds.evennia.page.mounting import mount

        return mount(web_root, reactor)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border: the owner's game is more than our page)
        _log.failure("the page of the assistants could not be made")
        return None


async def _close(page: MountedPage | None) -> None:
    """Stop the page, commands, assistants, and the listening of their characters, and wait for all of them."""
    # Evennia's own API is still empty while it loads this module.
    from mud_assistant.assistant.worlds.evennia import runners
    from mud_assistant.assistant.worlds.evennia.console.typed_command import WORK

    ending = [page.close()] if page is not None else []
    if server.is_open():
        ending.append(WORK.stop())
        await within(server.service().clock, WORK_SECONDS, ending, "ending the commands and the page's requests")
    await server.close_service()
    runners.detach_all()


def start_plugin_services(server: IServiceCollection) -> None:
    """Add the service to the Server's services. Evennia calls this once, in the Server only, after its web server."""
    EvenniaService(getattr(server, "web_root", None)).setServiceParent(server)  # type: ignore[no-untyped-call]  # the same
