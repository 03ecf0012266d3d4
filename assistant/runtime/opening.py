"""Chooses where the journal of a process is kept, from the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.runtime.in_memory import MemoryFile
from mud_assistant.assistant.runtime.storage import JournalFile, KeptJournal


class WantedJournal(Struct, frozen=True):
    """Where a journal is: in the database of the settings, else in `file`, else in memory.

    `process` is what other processes that share the database call this one, `language` that of the words by which
    memories are found.
    """

    config: JournalConfig
    file: Path | None
    process: str
    language: str


# Any: the reactor as clock, and for calls from other threads.
def kept_journal(
    place: WantedJournal, reactor: Any, wall: Callable[[], float], on_trouble: Callable[[str], None] = lambda _: None
) -> tuple[KeptJournal | MemoryFile, str]:
    """Return the journal, not open, and a sentence that says what it needs that is not installed: then it is in memory.

    `wall` gives seconds since 1970, on any thread. `on_trouble` is told in a sentence when the journal cannot be
    written or read, and with "" when it can again.
    """
    if place.config.url:
        try:
            from mud_assistant.assistant.runtime.sharing.journal import SharedJournal  # noqa: PLC0415  (who shares no journal has no psycopg)
        except ImportError:
            from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (the same)

            return MemoryFile(reactor.seconds), NO_DRIVER
        shared = SharedJournal(place.config, place.process, reactor, wall, on_trouble, language=place.language)
        return shared, ""
    if place.file is None:
        return MemoryFile(reactor.seconds, place.language), ""
    return JournalFile(place.file, reactor, wall, place.config, on_trouble, language=place.language), ""
