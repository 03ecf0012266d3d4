"""The journal: writes down what was heard, thought and done before it counts.

`MemoryJournal` keeps it as long as the process lives. `SqliteJournal` keeps it on disk, in a `Store`.
"""

from assistant.journal.bindings import StoredBindings
from assistant.journal.entries import NO_CHANGE, StreamChange, StreamEntry
from assistant.journal.erasure import Forgotten
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
from assistant.journal.interrupted import InterruptedCall, InterruptedRun, InterruptedStep, UnknownEffect
from assistant.journal.journal import Accepted, InboxFullError, Journal
from assistant.journal.lease import Lease
from assistant.journal.memory import MemoryJournal, RunRecord
from assistant.journal.mutes import Muted, StoredMutes
from assistant.journal.notes import StoredNotes
from assistant.journal.opening import Incomplete, Opened, ReadOnly, Recovered, Refused, Sound
from assistant.journal.retention import Pruned, next_prune_after
from assistant.journal.sqlite import SqliteJournal
from assistant.journal.store import Store
from assistant.journal.stream import LoadedStream, StoredStream
from assistant.journal.usage import StoredUsage

__all__ = [
    "NO_CHANGE",
    "Accepted",
    "AlreadyRecorded",
    "BrokenRecord",
    "Fenced",
    "Forgotten",
    "InboxFullError",
    "Incomplete",
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
    "Muted",
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
    "StoredBindings",
    "StoredMutes",
    "StoredNotes",
    "StoredStream",
    "StoredUsage",
    "StreamChange",
    "StreamEntry",
    "UnknownEffect",
    "UnknownRun",
    "next_prune_after",
]
