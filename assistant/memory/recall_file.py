"""Opens the index of memories when it is first needed, and works with it off the reactor's thread.

One file beside the journal serves all assistants of a process. It is derived: whatever is wrong with it, it is deleted
and filled anew from the journal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError
from mud_assistant.assistant.memory.recall.sqlite.file_index import SqliteIndex
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.resilience.background import DaemonThreads, FromThread, Launcher

T = TypeVar("T")
#: How many searches may wait for the index.
_WAITING = 1000
#: What stands behind the journal's name.
ENDING = ".recall"

_log = Logger()


class QueryMeaning(Protocol):
    """Makes sentence vectors, where the owner wants them (`assistant/memory/meaning.py`)."""

    @property
    def model(self) -> str:
        """The name of the model that makes them."""
        ...

    def of_texts(self, texts: list[str]) -> Awaitable[list[Vector | None]]:
        """Return the vector of each text, none at all when none can be made now."""
        ...

    def of_query(self, text: str) -> Awaitable[Vector | None]:
        """Return the vector of a query, None when it cannot be had soon."""
        ...

    def fill(self, worker: IndexWorker, assistant: str) -> Coroutine[Deferred[Any], Any, None]:
        """Give every memory of the assistant that has none a vector."""
        ...

    def stop(self) -> Awaitable[None]:
        """Stop what makes the vectors."""
        ...


class IndexWorker(ABC):
    """Works with an index, one work after the other, and knows what goes on beside that."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index
        self._launcher = Launcher()
        #: What makes sentence vectors; None where words alone find memories.
        self.meaning: QueryMeaning | None = None
        #: How often the index was begun anew since it was made: it is empty then, and must be filled again.
        self.begun = 0
        #: What is missing or was wrong with the index, as a sentence for the owner; empty when all is well.
        self.problem = ""

    @abstractmethod
    def run(self, work: Callable[[RecallIndex], T]) -> Awaitable[T]:
        """Return what `work` returns. Raises RecallIndexError, and Full when too much waits."""

    @abstractmethod
    def run_then(self, work: Callable[[RecallIndex], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` with what `work` returns or a Failure, on the index's thread. It may be called on any thread."""

    @abstractmethod
    async def close(self) -> None:
        """Close the index, after the work that goes on."""

    def later(self, work: Coroutine[Deferred[Any], Any, None], what: str) -> None:
        """Run work that nobody waits for, and log its error as `what`."""
        self._launcher.launch(work, what)

    async def _stop_work(self) -> None:
        await self._launcher.stop()
        if self.meaning is not None:
            await self.meaning.stop()


class RecallThread(IndexWorker):
    """An index on a thread of its own. `_recover` is called there when it failed, and makes it usable again."""

    def __init__(self, index: RecallIndex, reactor: FromThread) -> None:
        super().__init__(index)
        self._threads: DaemonThreads[object] = DaemonThreads(reactor, "recall", size=1, waiting=_WAITING)
        self._is_open = False

    def run(self, work: Callable[[RecallIndex], T]) -> Awaitable[T]:
        """Return what `work` returns. Raises Full, and RecallIndexError for an index that fails."""
        return self._threads.run(lambda: self._work(work))  # type: ignore[return-value]  # its results are of all types

    def run_then(self, work: Callable[[RecallIndex], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` on the index's thread with what `work` returns, or a Failure. It may be called on any thread.

        Raises Full.
        """
        self._threads.run_then(lambda: self._work(work), then)  # type: ignore[arg-type]  # its results are of all types

    async def close(self) -> None:
        """Close the index, after the work that goes on: what follows it in the journal is asked for by then."""
        await self._stop_work()
        await self._threads.run(self._index.close)
        self._threads.close()

    def _work(self, work: Callable[[RecallIndex], T]) -> T:
        if not self._is_open:
            self._open()
        try:
            return work(self._index)
        except RecallIndexError as broken:
            return self._recover(work, broken)

    @abstractmethod
    def _recover(self, work: Callable[[RecallIndex], T], broken: RecallIndexError) -> T:
        """Make an index usable that failed, and return what `work` returns then, or raise the error."""

    def _open(self) -> None:
        self.problem = self._index.open()
        self._is_open = True
        if self.problem:
            _log.warn("{problem}", problem=self.problem)


class RecallFile(RecallThread):
    """The index in a file of its own. `path` is that of the index, `language` the owner's.

    One that fails is begun anew, and the work that met the failure fails.
    """

    def __init__(self, path: Path, reactor: FromThread, language: str) -> None:
        self._file = SqliteIndex(path, language)
        super().__init__(self._file, reactor)
        self.path = path

    def _recover(self, work: Callable[[RecallIndex], T], broken: RecallIndexError) -> T:
        _log.warn("the index of memories is begun anew: {why}", why=str(broken))
        self._file.delete()
        self._open()
        self.begun += 1
        raise broken


class RecallInMemory(IndexWorker):
    """The index of assistants without a journal: in memory, and as small as what one trial says. Works at once."""

    def __init__(self, language: str) -> None:
        super().__init__(SqliteIndex(None, language))
        self.problem = self._index.open()

    async def run(self, work: Callable[[RecallIndex], T]) -> T:
        """Return what `work` returns."""
        return work(self._index)

    def run_then(self, work: Callable[[RecallIndex], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` with what `work` returns."""
        then(work(self._index))

    async def close(self) -> None:
        """Close the index."""
        await self._stop_work()
        self._index.close()
