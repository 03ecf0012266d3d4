"""The hooks that Evennia calls at each start of the Server, beside the game's own."""

from __future__ import annotations

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.checks.finding import FindingState
from mud_assistant.assistant.starting import settle_heap

_log = Logger()


def at_server_start() -> None:
    """Hide keys from newly opened logs, give our commands to every account, warn of a slow database, report troubles.

    Raises nothing: an exception here would keep Evennia from starting the scripts of the game.
    """
    # Evennia loads this module before all of itself, so what needs the rest of Evennia is imported here.
    from django.conf import settings

    from mud_assistant.assistant.worlds.evennia import server, stored
    from mud_assistant.assistant.worlds.evennia.console import alerts, doctor
    from mud_assistant.assistant.worlds.evennia.install import CMDSET

    try:
        server.hide_keys()
        if settings.CMDSET_ACCOUNT == CMDSET:
            stored.give_commands_to_all()
        finding = doctor.pragmas_in_force()
        if finding.state is FindingState.WRONG:
            _log.warn("{sentence}", sentence=finding.sentence)
        if server.is_open():
            alerts.attach()
        settle_heap()
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border to the host)
        _log.failure("the start of mud-assistant was not finished")
