"""Keeps in the journal who is who in a game, for the character that met them: several changes in one write."""

from __future__ import annotations

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.life.life_state import StoredLife
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.resilience import Launcher

#: Seconds within which changes are written together. What a crash takes with it is no older.
TOGETHER = 0.5
_log = Logger()


class KeptPersons:
    """The persons of one character, as the journal has them. Writes are through its lease, on the journal's thread."""

    def __init__(self, persons: Persons, clock: IReactorTime) -> None:
        self._persons, self._clock = persons, clock
        persons.on_change = self._changed
        self._part = f"people of {persons.game}"
        self._stored: StoredLife | None = None
        self._later: IDelayedCall | None = None
        self._launcher = Launcher()

    async def load(self, stored: StoredLife) -> None:
        """Know those whom the journal has, and keep every change there from now on. Raises JournalError."""
        kept = await stored.part(self._part)
        try:
            self._persons.restore(kept.encode() if isinstance(kept, str) else b"")
        except ValueError as error:
            _log.error("{why}; everybody counts as somebody new", why=str(error))
        self._stored = stored

    def _changed(self) -> None:
        if self._stored is not None and self._later is None:
            self._later = self._clock.callLater(TOGETHER, self._write)

    def close(self) -> Deferred[None]:
        """Write what is not written yet. What is returned fires when that is over, however it ended."""
        over = succeed(None)
        if self._later is not None:
            self._later.cancel()
            over = self._write()
        self._stored = None
        return over

    def _write(self) -> Deferred[None]:
        self._later = None
        assert self._stored is not None
        return self._launcher.launch(self._put(self._stored, self._persons.dump().decode()), "keeping who is who")

    async def _put(self, stored: StoredLife, text: str) -> None:
        try:
            await stored.put_part(self._part, text)
        except JournalError as error:  # written with the next change
            _log.warn("who is who is not written down: {why}", why=str(error))
