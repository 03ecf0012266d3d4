"""Keeps what owners want of the initiative of assistants: over restarts, and for all processes of a shared journal.

A change counts here at once. Other processes are told of it by a notice, which may be lost, and read it anew every few
seconds besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.life.peace import OwnersQuiet, Stillness, key_of
from mud_assistant.assistant.runtime.storage import Notices
from mud_assistant.assistant.service.sharing import hear_too
from mud_assistant.resilience import Launcher

#: The notice that something of it has changed.
CHANGED = "quiet"
#: How often it is read anew where other processes may change it, in seconds.
READ_SECONDS = 4.0

_log = Logger()


class KeptQuiet(Protocol):
    """Where it is kept."""

    async def load(self) -> frozenset[str]:
        """Return all keys. Raises JournalUnreadable."""
        ...

    async def put(self, key: str, *, is_so: bool) -> None:
        """Write one key down, or remove it. Raises JournalUnwritable."""
        ...


class Quieting:
    """What owners want of initiative, as it is kept. `state` is what the assistants of this process go by."""

    def __init__(self, kept: KeptQuiet, clock: IReactorTime, notices: Notices | None) -> None:
        self.state = OwnersQuiet()
        #: Called when something may be done again that was not.
        self.on_change: Callable[[], None] = lambda: None
        self._kept = kept
        self._clock = clock
        self._notices = notices
        self._launcher: Launcher | None = None

    async def load(self) -> None:
        """Read what is kept. Raises JournalUnreadable."""
        self._take(await self._kept.load())

    def follow(self, launcher: Launcher) -> None:
        """Heed what other processes change from now on, if any share the journal. It ends with the launcher."""
        if self._notices is not None:
            self._launcher = launcher
            hear_too(self._notices, self._hear)
            launcher.launch(self._follow(), "looking who is to be quiet")

    async def want(self, stillness: Stillness, assistant: str, *, is_so: bool) -> None:
        """Want something of an assistant, or of `EVERYBODY`, or no longer. Raises JournalUnwritable."""
        key = key_of(stillness, assistant)
        await self._kept.put(key, is_so=is_so)
        self._take(self.state.keys | {key} if is_so else self.state.keys - {key})
        if self._notices is not None:
            self._notices.tell(CHANGED)

    def _hear(self, words: str) -> None:
        if words == CHANGED and self._launcher is not None:
            self._launcher.launch(self._read(), "looking who is to be quiet")

    async def _follow(self) -> None:
        while True:
            await deferLater(self._clock, READ_SECONDS)
            await self._read()

    async def _read(self) -> None:
        try:
            await self.load()
        except JournalError as error:  # it stays as it was
            _log.info("it cannot be read who is to be quiet: {why}", why=str(error))

    def _take(self, keys: frozenset[str]) -> None:
        ended = self.state.keys - keys
        self.state.keys = keys
        if ended:
            self.on_change()
