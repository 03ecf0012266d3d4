"""The journal: what was heard, thought and done, written down before it counts.

`MemoryJournal` for as long as the process lives; `SqliteJournal` in a `Store` for good.
"""

from assistant.journal.errors import (
    AlreadyRecorded,
    BrokenRecord,
    Fenced,
    JournalClosed,
    JournalError,
    JournalRefused,
    JournalUnreadable,
    JournalUnwritable,
    NewerRecord,
    UnknownRun,
)
from assistant.journal.inbox import Parked
from assistant.journal.journal import Accepted, InboxFullError, Journal
from assistant.journal.lease import Lease
from assistant.journal.memory import MemoryJournal, RunRecord
from assistant.journal.notes import StoredNotes
from assistant.journal.opening import Opened, ReadOnly, Recovered, Refused, Sound
from assistant.journal.retention import Pruned
from assistant.journal.runs import InterruptedCall, InterruptedRun, InterruptedStep, UnknownEffect
from assistant.journal.sqlite import SqliteJournal
from assistant.journal.store import Store
from assistant.journal.stream import LoadedStream, StoredStream, StreamEntry
from assistant.journal.usage import StoredUsage

__all__ = [
    "Accepted",
    "AlreadyRecorded",
    "BrokenRecord",
    "Fenced",
    "InboxFullError",
    "InterruptedCall",
    "InterruptedRun",
    "InterruptedStep",
    "Journal",
    "JournalClosed",
    "JournalError",
    "JournalRefused",
    "JournalUnreadable",
    "JournalUnwritable",
    "Lease",
    "LoadedStream",
    "MemoryJournal",
    "NewerRecord",
    "Opened",
    "Parked",
    "Pruned",
    "ReadOnly",
    "Recovered",
    "Refused",
    "RunRecord",
    "Sound",
    "SqliteJournal",
    "Store",
    "StoredNotes",
    "StoredStream",
    "StoredUsage",
    "StreamEntry",
    "UnknownEffect",
    "UnknownRun",
]
