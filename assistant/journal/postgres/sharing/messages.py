"""Keeps messages for assistants until the process that runs each takes them in. SQL only.

A message is an event that was perceived elsewhere. Its id is the event's, so it is taken in once, whoever dies when:
the event is accepted first, and the message is deleted afterwards.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import InboxFullError
from mud_assistant.assistant.journal.postgres.sharing.leases import ENDS

#: Begins the ids of events that came as messages.
FROM_AFAR = "message."
#: Begins the notice that there is a message for an assistant.
FOR = "message "
#: How many messages wait for one assistant at most, and how many one look returns.
MAX_WAITING, MAX_MESSAGES = 500, 100
#: Selects the messages for assistants that the process `:id` runs, oldest first.
WAITING = f"""SELECT 'message', m.assistant, m.id, m.payload FROM messages m JOIN leases l ON l.assistant = m.assistant
    JOIN processes p ON p.id = l.holder WHERE l.holder = :id AND {ENDS} > now() ORDER BY m.seq LIMIT :limit"""


class LeftMessage(NamedTuple):
    """An event for an assistant, as a record. `id` is that of the event."""

    assistant: str
    id: str
    record: bytes


def post(db: Database, message: LeftMessage) -> None:
    """Leave a message. Raises InboxFullError when too many wait for the assistant. Part of a work."""
    left = db.execute(
        """INSERT INTO messages (assistant, id, payload) SELECT ?, ?, ?
           WHERE (SELECT count(*) FROM messages WHERE assistant = ?) < ?""",
        (message.assistant, message.id, message.record, message.assistant, MAX_WAITING),
    )
    if not left.rowcount:
        raise InboxFullError(f"{MAX_WAITING} messages are waiting")


def remove(db: Database, ids: Collection[str]) -> None:
    """Delete messages that were taken in. Part of a work."""
    db.execute("DELETE FROM messages WHERE id = ANY(?)", (list(ids),))


def count_messages(db: Database) -> int:
    """Return how many messages wait that no process has taken in."""
    return int(db.execute("SELECT count(*) FROM messages").fetchone()[0])


def pending_records(db: Database, assistant: str) -> list[bytes]:
    """Return the records of the events that came as messages and are not dealt with, oldest first."""
    rows = db.execute(
        "SELECT payload FROM events WHERE assistant = ? AND state = 'pending' AND id LIKE ? ORDER BY seq",
        (assistant, f"{FROM_AFAR}%"),
    )
    return [row[0] for row in rows]
