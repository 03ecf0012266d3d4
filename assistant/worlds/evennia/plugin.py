"""The plugin through which Evennia starts and stops the service with the Server process."""

from __future__ import annotations

from twisted.application.service import IServiceCollection, Service
from twisted.internet.defer import Deferred

from assistant.service.service import within
from assistant.worlds.evennia import server

#: How long cancelled commands may take to end, in seconds; the service then has the rest of the half second.
WORK_SECONDS = 0.05


class EvenniaService(Service):
    """Keeps the service open while the Server runs."""

    name = "mud-assistant"

    def startService(self) -> None:
        """Open the service. A fault is logged and reported by `assistant/doctor`; the game starts in any case."""
        super().startService()  # type: ignore[no-untyped-call]  # Service has no types
        server.open_service()

    def stopService(self) -> Deferred[None]:
        """Close the service. Fires within half a second, when runs are suspended and the journal is closed.

        If the Server took longer to end, the Portal would think that it still runs, and start no other.
        """
        super().stopService()  # type: ignore[no-untyped-call]  # the same
        return Deferred.fromCoroutine(_close())


async def _close() -> None:
    """Stop commands, assistants, and the listening of their characters, and wait for all of them."""
    # Evennia's own API is still empty while it loads this module.
    from assistant.worlds.evennia import runners
    from assistant.worlds.evennia.console.typed_command import WORK

    if server.is_open():
        await within(server.service().clock, WORK_SECONDS, [WORK.stop()], "ending the commands that go on")
    await server.close_service()
    runners.detach_all()


def start_plugin_services(server: IServiceCollection) -> None:
    """Add the service to the Server's services. Evennia calls this once, in the Server only."""
    EvenniaService().setServiceParent(server)  # type: ignore[no-untyped-call]  # the same
