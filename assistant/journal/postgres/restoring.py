"""Fences all processes of a journal at an owner's word: a backup of it was put back. Blocks."""

from __future__ import annotations

from contextlib import closing

import psycopg

from assistant.errors import KeyReferenceError
from assistant.journal.errors import CannotRead
from assistant.journal.place import PostgresPlace
from assistant.journal.postgres.connection import connect
from assistant.journal.postgres.opening import fence
from assistant.journal.postgres.reading import check_version
from assistant.journal.postgres.refusals import explain
from assistant.journal.postgres.schema import LOCK


def fence_all(place: PostgresPlace) -> int:
    """Let every process take its assistants anew, and return how many assistants there are. Raises CannotRead."""
    try:
        with closing(connect(place.url, place.password())) as db:
            check_version(db, place)
            db.run("BEGIN")
            db.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
            raised = fence(db)
            db.run("COMMIT")
            return raised
    except (psycopg.Error, KeyReferenceError) as error:
        raise CannotRead(f"{place} cannot be used: {explain(error)}") from error
