"""What makes the people of the measured game: runs inside its Server, where `evennia_lag.py` copies it to."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import evennia
from evennia.utils import create

from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.creation import create_assistant

PASSWORD = "long password"  # noqa: S105  (of a game that lives for two minutes)


def make_rooms(count: int) -> None:
    """Rooms, each with an account and its character in it."""
    for number in range(count):
        room = create.create_object("typeclasses.rooms.Room", key=f"Hall {number}", nohome=True)
        account = create.create_account(f"player{number}", "", PASSWORD, "typeclasses.accounts.Account")
        character = create.create_object(
            "typeclasses.characters.Character",
            key=f"Player{number}",
            location=room,
            home=room,
            locks=f"puppet:pid({account.id})",
        )
        account.characters.add(character)
        account.db._last_puppet = character  # noqa: SLF001  (what Evennia plays at once)


def make_assistants(names: Sequence[str], first: int, rooms: int) -> None:
    """Assistants, spread over the rooms; `first` is the number of the first one among all."""
    for number, name in enumerate(names, first):
        create_assistant(name, evennia.search_object(f"Hall {number % rooms}")[0])


def awake() -> int:
    """How many assistants live."""
    return sum(runner.state.value == "awake" for runner in server.service().runners.values())


def waiting() -> int:
    """Events that no run has dealt with though they want an answer, of all assistants."""
    database = sqlite3.connect(f"file:{server.service().home.journal}?mode=ro", uri=True)
    try:
        asked = "SELECT count(*) FROM events WHERE state = 'pending' AND verdict = 'trigger'"
        return int(database.execute(asked).fetchone()[0])
    finally:
        database.close()
