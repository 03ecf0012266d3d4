"""Fences all processes of a journal at an owner's word: a backup of it was put back. Blocks."""

from __future__ import annotations

from contextlib import closing

import psycopg

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.opening import fence
from mud_assistant.assistant.journal.postgres.reading import check_version
from mud_assistant.assistant.journal.postgres.refusals import explain
from mud_assistant.assistant.journal.postgres.schema import LOCK


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
