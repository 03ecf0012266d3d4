"""Hands messages that others left in the shared journal to the assistants of this process.

Imported only where the journal is in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from twisted.logger import Logger

from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.journal.errors import BrokenRecord, JournalError, NewerRecord
from mud_assistant.assistant.journal.postgres.sharing.messages import MAX_MESSAGES, LeftMessage, remove
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.resilience import Launcher

#: Lets an assistant hear an event. Returns False when it cannot now, and the message stays.
Hear = Callable[[str, Event], Awaitable[bool]]

_log = Logger()


class Mail:
    """Lets assistants hear messages, and deletes each once its event is in the journal.

    `more` is called when a look that returned as many as it may is dealt with: others may wait behind those.
    """

    def __init__(self, store: PostgresStore, hear: Hear, more: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._hear = hear
        self._more = more
        self._on_the_way: set[str] = set()
        #: Whether others may wait behind those on the way, and whether any of these is done with.
        self._is_full = self._made_room = False
        self._launcher = Launcher()

    def deliver(self, messages: Sequence[LeftMessage]) -> None:
        """Begin to hand over these messages, and return at once. Those already on their way are left alone."""
        self._is_full |= len(messages) >= MAX_MESSAGES
        for message in messages:
            if message.id not in self._on_the_way:
                self._on_the_way.add(message.id)
                self._launcher.launch(self._deliver(message), "handing over a message")

    async def stop(self) -> None:
        """Hand over no more. What was not accepted stays for the next process."""
        await self._launcher.stop()

    async def _deliver(self, message: LeftMessage) -> None:
        try:
            if await self._is_heard(message):
                await self._store.write(partial(remove, ids=[message.id]))
                self._made_room = True
        except JournalError as error:
            _log.warn("a message for {assistant} waits: {why}", assistant=message.assistant, why=str(error))
        finally:
            self._on_the_way.discard(message.id)
        if self._is_full and not self._on_the_way:
            is_more, self._is_full, self._made_room = self._made_room, False, False
            if is_more:
                self._more()

    async def _is_heard(self, message: LeftMessage) -> bool:
        """Return whether the message is done with. One that no version of this program can read is."""
        try:
            event = EVENT.decode(message.record)
        except NewerRecord:
            return False
        except (BrokenRecord, ValueError) as error:
            _log.error("a message for {assistant} is lost: {why}", assistant=message.assistant, why=str(error))
            return True
        return await self._hear(message.assistant, event)
