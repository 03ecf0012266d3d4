"""Starts a game and waits until it is really up; stops it and makes sure that nothing of it is left."""

from __future__ import annotations

import http.client
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

from mud_assistant.assistant.errors import GameError
from mud_assistant.assistant.surfaces.game.folder import LOOPBACK, GameFolder, free_ports
from mud_assistant.assistant.surfaces.game.processes import (
    EvenniaLauncher,
    LogTail,
    Patience,
    Process,
    ending,
    family,
    processes,
    who_listens,
)

#: How many times the launcher is told to start: under load it gives up before the game does.
_TRIES = 3
#: How long the Server may take to serve after the launcher's call, and the processes to end, in seconds.
UP_SECONDS = 90.0
_END_SECONDS, _TERM_SECONDS = 15.0, 5.0
_PAGE_SECONDS = 5.0
_STARTED = ("Evennia Server successfully started", "Evennia Server successfully restarted")
_RESTARTS = "Initial setup complete. Restarting Server once."
_BOTH = 2


@dataclass(slots=True)
class Running:
    """One game that can be started and stopped. `say` is called with a sentence for each step."""

    folder: GameFolder
    launcher: EvenniaLauncher
    patience: Patience
    say: Callable[[str], None]
    log: LogTail = field(init=False)

    def __post_init__(self) -> None:
        """Follow the game's log."""
        self.log = LogTail(self.folder.server_log)

    def is_up(self) -> bool:
        """Tell whether both processes are alive."""
        return len(processes(self.folder)) == _BOTH

    def is_there(self) -> bool:
        """Tell whether either process is alive. In a reload the Server is gone for seconds, while the Portal stays."""
        return bool(processes(self.folder))

    def start(self) -> list[str]:
        """Start the game and wait until it serves; return what the Server logged. Raises GameError. Blocks.

        The first start includes a restart. It also makes the owner's account, from the environment.
        """
        ports = self.folder.ports()
        if taken := ports.taken():
            listeners = " and ".join(dict.fromkeys(who_listens(port) for port in taken))
            raise GameError(
                f"{listeners} listens on port {', '.join(map(str, taken))}: stop it, or give this game five other "
                f"ports, which are free now, with --port {free_ports().first}"
            )
        self.say("Starting the game ...")
        self.log.to_end()
        owner = {
            "EVENNIA_SUPERUSER_USERNAME": self.folder.owner(),
            "EVENNIA_SUPERUSER_PASSWORD": self.folder.password(),
            "EVENNIA_SUPERUSER_EMAIL": "",
        }
        logged: list[str] = []
        printed = ""
        for _ in range(_TRIES):
            printed = self.launcher.run("start", environment=owner)
            self.patience.until(lambda: self._serves(logged) or not family(self.folder), UP_SECONDS)
            if self._serves(logged):
                return logged
            if not family(self.folder):
                break  # it has ended, and would end again
            self.say("It is slow to start; asking again ...")
        self.stop()
        logs = f"{self.folder.server_log} and {self.folder.launcher_log}"
        raise GameError(f"the game did not start; see {logs}, which ends with:\n{ending(printed)}")

    def _serves(self, logged: list[str]) -> bool:
        """Tell whether the Server has logged its last start, and answers. New log lines are appended to `logged`."""
        logged += self.log.lines()
        starts = [at for at, line in enumerate(logged) if any(text in line for text in _STARTED)]
        # The line about the restart comes before the one about the start that it belongs to.
        awaited = 1 + sum(_RESTARTS in line for line in logged)
        return len(starts) >= awaited and self.is_up() and self._shows_page()

    def _shows_page(self) -> bool:
        """Tell whether the web client's page can be fetched, which needs both Portal and Server."""
        connection = http.client.HTTPConnection(LOOPBACK, self.folder.ports().web, timeout=_PAGE_SECONDS)
        try:
            connection.request("GET", "/webclient/")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        """End the game and everything it started. Raises GameError when a process is left. Blocks."""
        living = family(self.folder)
        if not living:
            return
        self.say("Stopping the game ...")
        self.launcher.run("stop")
        known = [*living, *family(self.folder)]
        if self._gone(known, _END_SECONDS):
            return
        for how in (signal.SIGTERM, signal.SIGKILL):
            for process in known:
                process.kill(how)
            if self._gone(known, _TERM_SECONDS):
                self.say("It did not stop when it was asked to, and was ended.")
                return
        left = ", ".join(str(process.pid) for process in known if process.is_alive())
        raise GameError(f"these processes of the game are still there: {left}; end them with: kill -9 {left}")

    def _gone(self, known: list[Process], seconds: float) -> bool:
        return self.patience.until(lambda: not any(process.is_alive() for process in known), seconds)
