"""Keeps what lasts of a character's life beside its goals: whom it follows, its talks, its pauses, who wants quiet.

It is one JSON object in the journal, beside the record of sleep, written through the lease. A part that cannot be read,
as one that a newer program wrote in another form, counts as never kept; what another program added stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import fields, replace
from twisted.logger import Logger

from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables.lease import MemoryRows
from mud_assistant.assistant.journal.tables.sleep_state import load_life, save_life
from mud_assistant.assistant.life.days import NEVER
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Person, Principal
from mud_assistant.tools.context import Following

_log = Logger()


class Followed(Struct, frozen=True):
    """The person whom a character follows, until a time in seconds since 1970, and who asked for it."""

    id: str
    name: str
    until: float
    asker: Principal | None = None


class Pair(Struct, frozen=True):
    """How many lines two assistants have exchanged, and until when they rest from that, in seconds since 1970."""

    count: int = 0
    rest_until: float = 0.0


class LastImpulse(Struct, frozen=True):
    """When a character last acted of its own accord, in seconds since 1970, and how long it pauses since then."""

    at: float
    pause: float


class LifeState(Struct, frozen=True):
    """What lasts of a character's life. Times are seconds since 1970.

    `quiet_to` are the ids of the people who do not want to be spoken to first. `pairs` are by the other assistant's id.
    `day_begun` is the entry of its day that was begun last (`DayState.begun`).
    """

    following: Followed | None = None
    quiet_to: tuple[str, ...] = ()
    pairs: dict[str, Pair] = {}
    impulse: LastImpulse | None = None
    day_begun: int = NEVER


#: What nothing is kept of: one for all assistants.
_NOTHING = LifeState()


class StoredLife:
    """What lasts of one assistant's life, in its rows. `wall` gives seconds since 1970."""

    __slots__ = ("_rows", "state", "wall")

    def __init__(self, stored: MemoryRows, wall: Callable[[], float]) -> None:
        self._rows = stored
        self.wall = wall
        #: What was loaded or changed last. Load it again when somebody was forgotten.
        self.state = _NOTHING

    async def load(self) -> LifeState:
        """Return what is kept. Raises JournalUnreadable."""
        whose = self._rows.assistant
        self.state = await self._rows.read(lambda db: _state_of(load_life(db, whose)))
        return self.state

    async def change(self, change: Callable[[LifeState], LifeState]) -> LifeState:
        """Write down what `change` makes of what is kept, and return it. Raises Fenced and JournalUnwritable.

        `change` may be called on another thread, and more than once.
        """
        whose = self._rows.assistant

        def work(db: Database) -> LifeState:
            kept = load_life(db, whose)
            before = _state_of(kept)
            if (after := change(before)) != before:
                save_life(db, whose, {**kept, **to_builtins(after)})
            return after

        self.state = await self._rows.write(work)
        return self.state

    async def part(self, name: str) -> object:
        """Return what `put_part` wrote last under this name, None for nothing. Raises JournalUnreadable."""
        whose = self._rows.assistant
        return await self._rows.read(lambda db: load_life(db, whose).get(name))

    async def put_part(self, name: str, value: str) -> None:
        """Write down a text beside the state, which only its writer reads. Raises Fenced and JournalUnwritable."""
        whose = self._rows.assistant
        await self._rows.write(lambda db: save_life(db, whose, {**load_life(db, whose), name: value}))

    async def keep(self, what: str, change: Callable[[LifeState], LifeState]) -> None:
        """Write a change down as `change` does. Where that cannot be done, say in the log `what` is not kept."""
        try:
            await self.change(change)
        except JournalError as error:
            _log.warn("{what} is not written down: {why}", what=what, why=str(error))


def keep_day(stored: StoredLife, launcher: Launcher, begun: int) -> None:
    """Write down which entry of its day it has begun."""
    launcher.launch(stored.keep("its day", lambda state: replace(state, day_begun=begun)), "keeping its day")


def keep_following(following: Following, stored: StoredLife, launcher: Launcher) -> None:
    """Go on following whom the character followed, unless its time is over, and write down every change from now on."""
    known = stored.state.following
    if known is not None:
        following.restore(Person(known.name, id=known.id), known.asker, known.until - stored.wall())
    following.on_change = lambda: launcher.launch(_save_following(following, stored), "keeping whom it follows")


async def _save_following(following: Following, stored: StoredLife) -> None:
    kept = None
    if (leader := following.leader) is not None:
        until = stored.wall() + following.seconds_left
        kept = Followed(leader.id, leader.name, until, following.asker)
    await stored.keep("whom a character follows", lambda state: replace(state, following=kept))


def _state_of(kept: Mapping[str, Any]) -> LifeState:
    if not kept:
        return _NOTHING
    parts = {}
    for part in fields(LifeState):
        if part.name in kept:
            with suppress(ValidationError):
                parts[part.name] = convert(kept[part.name], part.type)
    return LifeState(**parts)
