"""The game that the live tests of this folder are played in."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from tests.evennia.live.game import Game, made

HAS_EVENNIA = importlib.util.find_spec("evennia") is not None
collect_ignore_glob = [] if HAS_EVENNIA else ["test_*.py"]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stock game that was started once, so that its first account and room are there; with a witness in the room.

    The first worker of a run makes it, for half a minute of a processor, and the others wait for that.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, ready = shared / "template" / "game", shared / "template-is-ready"
    with (shared / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            shutil.rmtree(folder.parent, ignore_errors=True)
            folder.parent.mkdir()
            pytest_twisted.blockon(Deferred.fromCoroutine(_started_once(made(folder))))
            ready.touch()
    return folder


async def _started_once(folder: Path) -> None:
    game = Game(folder)
    game.settle()
    try:
        await game.start()
        # The first start restarts the Server once, after its initial setup.
        await game.logged("successfully restarted in 'reset' mode")
        owner = await game.owner()
        await game.py(
            owner, "evennia.create_object('typeclasses.witness.Witness', key='witness', location=self.location)"
        )
        await game.stop()
    finally:
        await game.put_away()
    (folder / "witness.log").unlink(missing_ok=True)
    (folder / "server/logs/server.log").unlink()
