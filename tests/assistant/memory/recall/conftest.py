from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from mud_assistant.assistant.memory.recall import SqliteIndex
from mud_assistant.assistant.memory.recall.index import RecallIndex
from mud_assistant.tools.memories import Memory
from tests.assistant.memory.recall.keeping import WHO, Filled


@pytest.fixture(params=["sqlite", "postgres", "newest"])
def filled(request: pytest.FixtureRequest) -> Iterator[Filled]:
    """Makes an index that holds these memories: in memory, or in one of two versions of PostgreSQL, where a later one
    replaces it."""
    with ExitStack() as made:

        def fill(*memories: Memory, language: str = "english") -> RecallIndex:
            index = make(language)
            assert index.open() == ""
            made.enter_context(closing(index))
            index.clear(WHO)
            index.add(WHO, enumerate(memories, 1))
            return index

        def make(language: str) -> RecallIndex:
            if request.param == "sqlite":
                return SqliteIndex(None, language)
            url = request.getfixturevalue(f"{request.param}_url")
            from mud_assistant.assistant.journal.postgres.connection import connect  # noqa: PLC0415  (needs the extra postgres)
            from mud_assistant.assistant.memory.recall.postgres.index import PostgresIndex  # noqa: PLC0415

            return PostgresIndex(lambda: connect(url), language)

        yield fill
