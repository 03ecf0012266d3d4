"""Who has taken a port, and which ports a new game takes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mud_assistant.assistant.errors import GameError
from mud_assistant.assistant.surfaces.game.folder import FIRST, GameFolder, Kept, Ports, free_ports
from mud_assistant.assistant.surfaces.game.making import Maker
from mud_assistant.assistant.surfaces.game.processes import Patience, who_listens
from mud_assistant.assistant.surfaces.game.running import Running

#: It takes the first of a game's ports where nobody has the others.
_LISTEN = """
import socket
while True:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    try:
        for behind in (1, 2, 5, 6):
            with socket.socket() as other:
                other.bind(("127.0.0.1", listening.getsockname()[1] + behind))
        break
    except (OSError, OverflowError):
        listening.close()
listening.listen()
print(listening.getsockname()[1], flush=True)
input()
"""

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not tell who listens")


@contextmanager
def listener(folder: Path, name: str) -> Iterator[tuple[int, int]]:
    """A program of this name that listens, started in a folder; its port and its process."""
    script = folder / name
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_LISTEN)
    with subprocess.Popen(
        [sys.executable, str(script)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        yield int(child.stdout.readline()), child.pid
        child.communicate(b"\n")


def test_a_game_of_evennias_is_named_by_its_folder(tmp_path: Path) -> None:
    with listener(tmp_path, "evennia/server/portal/portal.py") as (port, pid):
        assert who_listens(port) == f"the Evennia game in {tmp_path.resolve()} (process {pid})"


def test_any_other_program_is_named_by_its_name(tmp_path: Path) -> None:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        told = who_listens(listening.getsockname()[1])
    name = Path("/proc/self/comm").read_text().strip()
    assert told == f"the program '{name}' (process {os.getpid()})"


def test_a_port_that_nobody_listens_on_has_no_name() -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        assert who_listens(bound.getsockname()[1]) == "another program"


def test_a_game_whose_port_is_taken_says_by_what_and_which_are_free(tmp_path: Path) -> None:
    with listener(tmp_path / "mygame", "evennia/server/portal/portal.py") as (port, pid):
        folder = GameFolder(tmp_path / "ours")
        folder.settings.parent.mkdir(parents=True)
        folder.keep(Kept(port, "Sage"))
        launcher = Maker(os.environ, print).launcher(folder)
        with pytest.raises(GameError) as caught:
            Running(folder, launcher, Patience(float, print), print).start()
    told = str(caught.value)
    assert f"the Evennia game in {tmp_path.resolve() / 'mygame'} (process {pid}) listens on port {port}: " in told
    advised = Ports(int(told.rpartition("--port ")[2]))
    assert not advised.taken()


def test_a_new_game_leaves_evennias_own_ports_to_a_stock_game() -> None:
    stock = {4000, 4001, 4002, 4005, 4006}
    assert FIRST > 4006
    assert stock.isdisjoint(free_ports().all())
