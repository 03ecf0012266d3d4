"""mudpy with its sample world, two accounts and an avatar for each: `scripts/telnet_games.sh` fetches it."""

from __future__ import annotations

import shutil
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import pbkdf2_hmac
from pathlib import Path
from typing import Any

import pytest

from tests.assistant.worlds.telnet.live.game_process import game_process
from tests.assistant.worlds.telnet.live.town import PASSWORD, Town
from tests.ports import free_ports

_ENVIRONMENT = Path(__file__).parents[5] / ".venv-mudpy"
_PYTHON, _SOURCE = _ENVIRONMENT / "bin/python", _ENVIRONMENT / "source"
_ACCOUNT = """
account.{account}.avatars:
    - actor.avatar_{account}_0
account.{account}.name: {account}
account.{account}.passhash: {hashed}
"""
_AVATAR = """
actor.avatar_{account}_0.default_location: area.0,0,0
actor.avatar_{account}_0.gender: female
actor.avatar_{account}_0.inherit:
    - archetype.avatar
    - archetype.actor
actor.avatar_{account}_0.name: {name}
"""


@asynccontextmanager
async def mudpy_town(reactor: Any, folder: Path) -> AsyncIterator[Town]:
    """Run the game; the test is skipped where it was not fetched."""
    if not (_SOURCE / "etc/mudpy.yaml").is_file():
        pytest.skip("mudpy is not here: scripts/telnet_games.sh fetches it")
    for name in ("etc", "share", "sample"):
        shutil.copytree(_SOURCE / name, folder / name)
    (port,) = free_ports(1)
    settings = folder / "etc/mudpy.yaml"
    text = settings.read_text().replace(".host: ::1", ".host: 127.0.0.1").replace(".port: 4000", f".port: {port}")
    settings.write_text(text.replace(".increment: 0.1", ".increment: 0.02"))
    prop = folder / "sample/prop.yaml"
    prop.write_text(prop.read_text().replace("A sample prop sits here.", "An old map lies here."))
    (folder / "data").mkdir()
    people = {"keeper": "Sage", "visitor": "Anna"}
    accounts = "".join(_ACCOUNT.format(account=account, hashed=_hashed()) for account in people)
    (folder / "data/account.yaml").write_text(f"---{accounts}")
    avatars = "".join(_AVATAR.format(account=account, name=name) for account, name in people.items())
    (folder / "data/actor.yaml").write_text(f"---{avatars}")
    line = [str(_PYTHON), "-m", "mudpy.daemon"]
    environment = {"PYTHONPATH": str(_SOURCE)}
    async with game_process(reactor, line, folder, r"Listening for Telnet connections", environment):
        anna = ("Identify yourself", "visitor"), ("Password", PASSWORD), ("like to do", "a"), ("to awaken?", "1")
        yield Town("mudpy", port, "keeper", anna)


def _hashed() -> str:
    """Return the password as mudpy keeps it; with few rounds, since nobody guesses here."""
    rounds, salt = 10, b"salt of the tests"
    hashed = pbkdf2_hmac("sha512", PASSWORD.encode(), salt, rounds)
    return f"$pbkdf2-sha512${rounds}${_letters(salt)}${_letters(hashed)}"


def _letters(data: bytes) -> str:
    return b64encode(data).decode().rstrip("=").replace("+", ".")
