from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from twisted.logger import capturedLogs

from assistant.memory.recall import RecallIndex
from assistant.memory.recall.protocol import MemoryIndex
from tests.assistant.memory.recall.keeping import WHO, Filled
from tools.memories import Memory


@pytest.fixture(params=["sqlite", "postgres", "pgvector"])
def filled(request: pytest.FixtureRequest) -> Iterator[Filled]:
    """Makes an index that holds these memories: in memory, or in a PostgreSQL without and with pgvector, where a later
    one replaces it."""
    with ExitStack() as made:

        def fill(*memories: Memory, language: str = "english") -> MemoryIndex:
            index = make(language)
            assert index.open() == ""
            made.enter_context(closing(index))
            index.clear(WHO)
            index.add(WHO, enumerate(memories, 1))
            return index

        def make(language: str) -> MemoryIndex:
            if request.param == "sqlite":
                return RecallIndex(None, language)
            url = request.getfixturevalue(f"{request.param}_url")
            from assistant.journal.postgres.connection import connect  # noqa: PLC0415  (needs the extra postgres)
            from assistant.memory.recall.postgres.index import PostgresIndex  # noqa: PLC0415

            return PostgresIndex(lambda: connect(url), language)

        with capturedLogs() as logs:
            yield fill
        assert not [log for log in logs if "without pgvector" in str(log.get("log_format"))], "its statements failed"
