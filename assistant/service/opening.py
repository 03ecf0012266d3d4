"""Opens the journal of a process, and lets others wait for that: also for a database that is away for now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.assistant.journal import JournalUnreadable, Opened, ReadOnly
from mud_assistant.assistant.runtime.in_memory import MemoryFile
from mud_assistant.assistant.runtime.storage import KeptJournal

T = TypeVar("T")
#: The waits between two attempts to reach a database that is away, in seconds: the first, and the longest.
FIRST_WAIT, LONGEST_WAIT = 0.5, 4.0

_log = Logger()


class JournalOpening:
    """The opening of a journal, and those who wait for its end."""

    def __init__(self, journal: KeptJournal | MemoryFile, clock: IReactorTime) -> None:
        self._journal = journal
        self._clock = clock
        self._is_over = False
        #: Why a journal that is waited for is not there, in a sentence; empty when it is, or is not waited for.
        self._away = ""
        #: Whether it was found as it will not be used, so that nothing more is waited for.
        self._is_refused = False
        #: Those who wait, and whether they also wait for a journal that is away.
        self._waiting: dict[Deferred[None], bool] = {}
        self._tell: list[Callable[[str], None]] = []

    async def open(self) -> Opened | None:
        """Open the journal, and return how it was found. What passes by itself is waited for, however long it takes."""
        opened, wait = await self._journal.open(), FIRST_WAIT
        while isinstance(opened, ReadOnly) and opened.passes and isinstance(self._journal, KeptJournal):
            self._is_away(opened.sentence)
            await deferLater(self._clock, wait)
            wait = min(2 * wait, LONGEST_WAIT)
            opened = await self._journal.open_again()
        self._away, self._is_refused = "", isinstance(opened, ReadOnly)
        return opened

    async def read(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` reads for the opening; a database that goes away is waited for. Raises JournalError."""
        wait = FIRST_WAIT
        while True:
            try:
                found = await work()
            except JournalUnreadable as error:
                if self._journal.shared_ledger is None or self._is_refused:
                    raise
                self._is_away(f"{error}.")
                await deferLater(self._clock, wait)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                self._away = ""
                return found

    def end(self) -> None:
        """Let those go on who wait, whatever came of it."""
        self._is_over, self._away = True, ""
        waiting, self._waiting = list(self._waiting), {}
        for waiter in waiting:
            waiter.callback(None)

    async def ready(self) -> None:
        """Wait until the journal was opened, or could not be. Raises JournalUnreadable while it is away."""
        if self._away:
            raise self._error()
        await self._wait(is_patient=False)

    async def until_over(self, on_away: Callable[[str], None] = lambda _: None) -> None:
        """Wait until the journal was opened, or could not be, as long as it is away.

        `on_away` is told once in a sentence that it is, and why.
        """
        self._tell.append(on_away)
        if self._away:
            on_away(self._away)
        try:
            await self._wait(is_patient=True)
        finally:
            self._tell.remove(on_away)

    async def _wait(self, *, is_patient: bool) -> None:
        if not self._is_over:
            waiter: Deferred[None] = Deferred(self._leave)
            self._waiting[waiter] = is_patient
            await waiter

    def _leave(self, gone: Deferred[None]) -> None:
        self._waiting.pop(gone, None)

    def _is_away(self, sentence: str) -> None:
        """Tell all who wait that the journal is away, unless they know; only those who are patient go on waiting."""
        if self._away:
            return
        self._away = sentence
        _log.warn("{why} It is tried again until it is back.", why=sentence)
        for tell in tuple(self._tell):
            tell(sentence)
        for waiter in [waiter for waiter, is_patient in self._waiting.items() if not is_patient]:
            del self._waiting[waiter]
            waiter.errback(Failure(self._error()))

    def _error(self) -> JournalUnreadable:
        return JournalUnreadable(self._away.removesuffix("."))
