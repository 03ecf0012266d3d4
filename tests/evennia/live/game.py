"""A real game for tests: `evennia --init`, its own folder and ports on the loopback, Portal and Server as processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twisted.internet.task import deferLater
from twisted.internet.utils import getProcessOutputAndValue

from tests.evennia.live.telnet import PATIENCE, Telnet, connected
from tests.ports import free_ports

OWNER, PASSWORD = "Owner", "a long password"
#: The line of docs/evennia.md.
INSTALL_LINE = "from mud_assistant.assistant.worlds.evennia.install import install; install(globals())"
#: How long a launcher command may take on a busy machine, in seconds.
LAUNCHER_SECONDS = 240.0
#: What it prints when it gives up waiting, and how often it is called until a start has failed.
TIMED_OUT = "Connection to Evennia timed out"
START_ATTEMPTS = 4
_BIN = Path(sys.executable).parent
_ROOT = Path(__file__).parents[3]

_SETTINGS = """
TELNET_INTERFACES = WEBSERVER_INTERFACES = ["127.0.0.1"]
WEBSOCKET_CLIENT_INTERFACE = AMP_INTERFACE = AMP_HOST = "127.0.0.1"
TELNET_PORTS = [{telnet}]
WEBSERVER_PORTS = [({web}, {server_web})]
WEBSOCKET_CLIENT_PORT = {websocket}
AMP_PORT = {amp}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
{more}
"""
#: Stands in a room and writes down, at once and for good, all that is heard there.
_WITNESS = """
import os
from evennia.objects.objects import DefaultObject

class Witness(DefaultObject):
    def at_msg_receive(self, text=None, from_obj=None, **kwargs):
        words, kind = (text[0], (text[1] or {}).get("type", "")) if isinstance(text, tuple) else (text, "")
        with open(os.path.join(os.getcwd(), "witness.log"), "a") as log:
            log.write(f"{kind}|{from_obj.key if from_obj else ''}|{words}".replace(chr(10), " ") + chr(10))
            log.flush()
            os.fsync(log.fileno())
        return True
"""


@dataclass
class Game:
    """One game in its folder. `lines` stand at the end of its settings."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    telnets: list[Telnet] = field(default_factory=list)

    def settle(self, lines: str = "") -> None:
        """Give the game ports of its own and the lines at the end of its settings."""
        names = ("telnet", "web", "server_web", "websocket", "amp")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        path = self.folder / "server/conf/settings.py"
        stock = path.read_text().partition("\n# -- of the tests\n")[0]
        path.write_text(f"{stock}\n# -- of the tests\n{_SETTINGS.format(**self.ports, more=lines)}")

    def add_line(self, line: str) -> None:
        """One line more at the end of the settings."""
        path = self.folder / "server/conf/settings.py"
        path.write_text(f"{path.read_text()}\n{line}\n")

    def remove_line(self, line: str) -> None:
        """The line is gone from the settings."""
        path = self.folder / "server/conf/settings.py"
        path.write_text(path.read_text().replace(f"{line}\n", ""))

    async def launcher(self, *arguments: str) -> str:
        """What `evennia ARGUMENTS` printed, as the owner types it; a stuck one fails the test."""
        running = getProcessOutputAndValue(
            str(_BIN / "evennia"), list(arguments), env=self._environment(), path=str(self.folder), reactor=_reactor()
        )
        printed: tuple[bytes, bytes, int] = await running.addTimeout(LAUNCHER_SECONDS, _reactor())
        return b"".join(printed[:2]).decode(errors="replace")

    async def start(self) -> str:
        """What `evennia start` printed, once the game takes players.

        On a busy machine the launcher gives up on the Portal after 10 s; the owner types it again, and so does this.
        """
        said = ""
        for _ in range(START_ATTEMPTS):
            said = await self.launcher("start")
            if "ERROR" in said or "Traceback" in said:
                break
            if TIMED_OUT not in said and await self._is_up():
                return said
        raise AssertionError(f"the game did not start: {said}\n{self.log()[-3000:]}")

    async def _is_up(self) -> bool:
        """Whether the Server runs, or does in a while."""
        deadline = _reactor().seconds() + PATIENCE
        while self.server_pid is None or not _lives(self.server_pid):
            if _reactor().seconds() > deadline:
                return False
            await deferLater(_reactor(), 0.2)
        return True

    async def logged(self, words: str, after: int = 0) -> None:
        """Returns when the Server's log holds these words behind the place `after`."""
        deadline = _reactor().seconds() + PATIENCE
        while words not in self.log()[after:]:
            if _reactor().seconds() > deadline:
                raise AssertionError(f"the log never said {words!r}: {self.log()[-3000:]}")
            await deferLater(_reactor(), 0.1)

    async def stop(self) -> str:
        """What `evennia stop` printed, when nothing of the game runs any more."""
        for telnet in self.telnets:
            if not telnet.closed.called:
                await telnet.leave()
        self.telnets.clear()
        pids = [pid for pid in (self.server_pid, self.portal_pid) if pid]
        said = await self.launcher("stop")
        for pid in pids:
            await self.gone(pid)
        return said

    async def put_away(self) -> None:
        """Stop, and kill what did not: nothing is left behind, whatever the test did."""
        pids = [pid for pid in (self.server_pid, self.portal_pid) if pid and _lives(pid)]
        try:
            if pids:
                await self.stop()
        finally:
            for pid in [*pids, self.server_pid, self.portal_pid]:
                if pid and _lives(pid) and self._is_ours(pid):
                    os.kill(pid, signal.SIGKILL)

    async def kill_server(self) -> None:
        """The Server is dead, as after a crash; the Portal lives on."""
        pid = self.server_pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        await self.gone(pid)

    async def gone(self, pid: int) -> None:
        """Returns when this process runs no more."""
        deadline = _reactor().seconds() + PATIENCE
        while _lives(pid):
            if _reactor().seconds() > deadline:
                raise AssertionError(f"process {pid} did not end")
            await deferLater(_reactor(), 0.05)

    @property
    def server_pid(self) -> int | None:
        """The process of the Server."""
        return self._pid("server")

    @property
    def portal_pid(self) -> int | None:
        """The process of the Portal."""
        return self._pid("portal")

    async def owner(self) -> Telnet:
        """The owner of the game at a telnet prompt, in the first room."""
        telnet = await connected(self.ports["telnet"])
        self.telnets.append(telnet)
        await telnet.saw("create")
        await telnet.asks(f"connect {OWNER} {PASSWORD}", "Limbo")
        return telnet

    async def py(self, telnet: Telnet, code: str) -> str:
        """What an expression of Python is in the Server, as text."""
        begin, end = f"begin-{telnet.mark}.", f"end-{telnet.mark}."
        spelled = [f"'{mark[:3]}' + '{mark[3:]}'" for mark in (begin, end)]  # the line itself is shown as well
        seen = await telnet.asks(f"py self.msg({spelled[0]}); self.msg(str({code})); self.msg({spelled[1]})", end)
        return seen.partition(begin)[2].partition(end)[0].strip()

    def witnessed(self, kind: str = "say") -> list[str]:
        """What was heard in the witness's room, in order, through every life of the Server."""
        path = self.folder / "witness.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split("|", 2)[2] for line in lines if line.startswith(f"{kind}|")]

    def log(self) -> str:
        """The Server's log."""
        path = self.folder / "server/logs/server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _pid(self, name: str) -> int | None:
        try:
            return int((self.folder / f"server/{name}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def _is_ours(self, pid: int) -> bool:
        """Whether the process works in the game's folder: a number may belong to another one by now."""
        return Path(f"/proc/{pid}/cwd").readlink() == self.folder

    def _environment(self) -> dict[str, str]:
        return launcher_environment() | self.environment


def launcher_environment() -> dict[str, str]:
    """What the launcher needs: `twistd` by its name, our packages, and the first account without a question."""
    return {
        **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
        "PATH": f"{_BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        # Ours comes second, because the launcher puts Evennia's own folder in the place of the first.
        "PYTHONPATH": f"{_ROOT / 'docs'}{os.pathsep}{_ROOT}",
        "PYTHONWARNINGS": "ignore",
        "EVENNIA_SUPERUSER_USERNAME": OWNER,
        "EVENNIA_SUPERUSER_EMAIL": "owner@example.com",
        "EVENNIA_SUPERUSER_PASSWORD": PASSWORD,
    }


def made(folder: Path) -> Path:
    """A stock game in `folder` with its tables, not started yet. Blocks for about 15 s: once for a session."""
    environment = launcher_environment()
    for where, arguments in ((folder.parent, ["--init", folder.name]), (folder, ["migrate"])):
        done = subprocess.run(
            [str(_BIN / "evennia"), *arguments], cwd=where, env=environment, text=True, check=False,
            capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"evennia {arguments}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    (folder / "typeclasses/witness.py").write_text(_WITNESS)
    return folder


@asynccontextmanager
async def running(
    template: Path, folder: Path, lines: str = INSTALL_LINE, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Game]:
    """A game made from the template, started, with these lines in its settings; nothing of it is left at the end."""
    game = copied(template, folder, environment)
    game.settle(lines)
    try:
        await game.start()
        yield game
    finally:
        await game.put_away()


def copied(template: Path, folder: Path, environment: Mapping[str, str] | None = None) -> Game:
    """A game made from the template, not started; its settings still want `settle`."""
    shutil.copytree(template, folder)
    return Game(folder, environment=dict(environment or {}))


def _lives(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _reactor() -> Any:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (a test's composition root)

    return reactor
