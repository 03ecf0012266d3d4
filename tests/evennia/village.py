"""A small real game for tests: a hall, a garden north of it, and the people a test puts there.

Players have an account and a session of the game's own classes; the session only stops short of the wire and keeps
what it would have sent. Use with the `db` fixture, which undoes everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import evennia
from evennia.server.serversession import ServerSession
from evennia.utils import create
from evennia.utils.ansi import strip_ansi, strip_mxp
from twisted.internet.task import Clock

from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.worlds.evennia.body.event_source import EventSource, MakeEvent
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.stored import script_settings_of

_SESSIONS: Iterator[int] = count(1)


class RecordingSession(ServerSession):  # type: ignore[misc]  # Evennia has no types
    """A connection of a player; `sent` holds what the server would have handed to the Portal."""

    def data_out(self, **kwargs: Any) -> None:
        """Keep what the session handler makes of it."""
        self.sent.append(self.sessionhandler.clean_senddata(self, kwargs))

    @classmethod
    def connected(cls) -> RecordingSession:
        """A new connection in the game's session handler."""
        session = cls()
        session.init_session("telnet", ("127.0.0.1", 1), evennia.SESSION_HANDLER)
        session.sessid = next(_SESSIONS)
        session.sent = []
        evennia.SESSION_HANDLER[session.sessid] = session
        return session


@dataclass
class Player:
    """Somebody who plays: an account, a character and a connection."""

    account: Any
    character: Any
    session: RecordingSession
    _read: int = field(default=0)

    def raw(self) -> list[str]:
        """The texts that came since the last look, with their markup."""
        new = self.session.sent[self._read :]
        self._read = len(self.session.sent)
        return [str(out["text"][0][0]) for out in new if "text" in out]

    def heard(self) -> list[str]:
        """The texts that came since the last look, without markup."""
        return [strip_ansi(strip_mxp(text)).replace("\u200b", "") for text in self.raw()]

    def does(self, line: str) -> Any:
        """What comes of typing a line: the Deferred of the command handler."""
        return self.account.execute_cmd(line, session=self.session)

    def logs_out(self) -> None:
        """Leave the game."""
        self.account.unpuppet_object(self.session)
        evennia.SESSION_HANDLER.disconnect(self.session, sync_portal=False)


class RecordingEars:
    """Ears that keep the events, numbered from 1."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def hear(self, make: MakeEvent) -> None:
        """Keep the event."""
        self.events.append(make(str(len(self.events) + 1), 0.0))

    def take(self) -> list[Event]:
        """What was heard since the last time."""
        taken, self.events = self.events, []
        return taken


class Village:
    """The rooms, and the making of people. `way` leads from hall to garden, `back` the other way."""

    def __init__(self) -> None:
        self.hall = self.room("Hall", "A wide hall.")
        self.garden = self.room("Garden", "Roses everywhere.")
        self.way = self.exit("north", self.hall, self.garden, ("n",))
        self.back = self.exit("south", self.garden, self.hall, ("s",))

    def room(self, name: str, description: str = "A room.") -> Any:
        """A room of the game's own class."""
        room = create.create_object("typeclasses.rooms.Room", key=name, nohome=True)
        room.db.desc = description
        return room

    def exit(self, name: str, start: Any, end: Any, aliases: tuple[str, ...] = ()) -> Any:
        """A way from `start` to `end`."""
        return create.create_object(
            "typeclasses.exits.Exit", key=name, location=start, destination=end, aliases=list(aliases), home=start
        )

    def thing(self, name: str, description: str = "", where: Any = None) -> Any:
        """Something that lies in a room, the hall unless said otherwise."""
        where = where or self.hall
        thing = create.create_object("typeclasses.objects.Object", key=name, location=where, home=where)
        thing.db.desc = description
        return thing

    def figure(self, name: str, where: Any = None, typeclass: str = "typeclasses.characters.Character") -> Any:
        """A character nobody plays."""
        where = where or self.hall
        return create.create_object(typeclass, key=name, location=where, home=where)

    def player(
        self, name: str, permission: str = "Player", where: Any = None,
        typeclass: str = "typeclasses.characters.Character", *, superuser: bool = False,
    ) -> Player:  # fmt: skip
        """Somebody who plays and is in the room; what he has read so far is forgotten."""
        account = create.create_account(
            name, f"{name}@example.com".lower(), "a password", "typeclasses.accounts.Account",
            permissions=[permission], is_superuser=superuser,
        )  # fmt: skip
        character = self.figure(name, where, typeclass)
        character.locks.add(f"puppet:pid({account.id})")
        account.db._last_puppet = character
        player = Player(account, character, RecordingSession.connected())
        self.logs_in(player)
        player.raw()
        return player

    def logs_in(self, player: Player) -> None:
        """Take the player's connection into the game, again where it had left."""
        evennia.SESSION_HANDLER[player.session.sessid] = player.session
        evennia.SESSION_HANDLER.login(player.session, player.account, testmode=True)
        player.account.puppet_object(player.session, player.character)

    def hearing(self, character: Any) -> tuple[RecordingEars, Clock]:
        """What the character hears from now on, and the clock that hands it over."""
        listener, clock = RecordingEars(), Clock()
        character.attach(EventSource(character, listener, clock))
        return listener, clock

    def assistant(self, name: str = "Sage", where: Any = None) -> Any:
        """A character for an assistant; nothing lives in it yet."""
        where = where or self.hall
        return create.create_object(AssistantCharacter, key=name, location=where, home=where)


def script_of(character: Any) -> Any:
    """The script that makes a character an assistant, None when it has none."""
    return script_settings_of(character)
