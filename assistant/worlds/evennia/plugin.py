"""Evennia's door for services: the household lives and ends with the Server process."""

from __future__ import annotations

from twisted.application.service import IServiceCollection, Service
from twisted.internet.defer import Deferred

from assistant.service.closing import within
from assistant.worlds.evennia import house

#: How long commands may take to end that were cancelled, in seconds; the household then has what is left of the half.
WORK_SECONDS = 0.05


class HouseholdService(Service):
    """Keeps the household open while the Server runs."""

    name = "mud-assistant"

    def startService(self) -> None:
        """Begin. Whatever is wrong is logged and told by `assistant/doctor`: the game starts all the same."""
        super().startService()  # type: ignore[no-untyped-call]  # Service has no types
        house.open_house()

    def stopService(self) -> Deferred[None]:
        """Fires within half a second, when runs are suspended and the journal is closed.

        A Server that took longer to end would be taken for a living one by the Portal, which then starts no other.
        """
        super().stopService()  # type: ignore[no-untyped-call]  # the same
        return Deferred.fromCoroutine(_closed())


async def _closed() -> None:
    """Returns when nothing of ours goes on: commands, assistants, and the ears of their characters."""
    # Evennia's own API is still empty while it loads this module.
    from assistant.worlds.evennia import lives  # noqa: PLC0415
    from assistant.worlds.evennia.commands.order import WORK  # noqa: PLC0415

    if house.is_open():
        await within(house.household().clock, WORK_SECONDS, [WORK.stop()], "ending the commands that go on")
    await house.close_house()
    lives.let_everybody_go()


def start_plugin_services(server: IServiceCollection) -> None:
    """Called by Evennia once, in the Server only."""
    HouseholdService().setServiceParent(server)  # type: ignore[no-untyped-call]  # the same
