"""The journal: writes down what was heard, thought and done before it counts.

`MemoryJournal` keeps it as long as the process lives. `StoredJournal` keeps it on disk, in a `Store`.
"""

from mud_assistant.assistant.journal.errors import (
    AlreadyRecorded,
    BrokenRecord,
    Fenced,
    HeldElsewhere,
    InboxFullError,
    JournalClosed,
    JournalError,
    JournalRefused,
    JournalUnreadable,
    JournalUnwritable,
    NewerRecord,
    UnknownRun,
)
from mud_assistant.assistant.journal.memory import MemoryJournal, RunRecord
from mud_assistant.assistant.journal.place import (
    Incomplete,
    Opened,
    OpeningRefused,
    ReadOnly,
    Recovered,
    Sound,
    is_news,
)
from mud_assistant.assistant.journal.protocol import (
    NO_CHANGE,
    Accepted,
    Cleared,
    Forgotten,
    InterruptedCall,
    InterruptedRun,
    InterruptedStep,
    Journal,
    Parked,
    StreamChange,
    StreamEntry,
    UnknownEffect,
)
from mud_assistant.assistant.journal.sqlite.store import Store
from mud_assistant.assistant.journal.stored_journal import StoredJournal
from mud_assistant.assistant.journal.tables.lease import Lease
from mud_assistant.assistant.journal.tables.mutes import Muted, StoredMutes
from mud_assistant.assistant.journal.tables.process_wide import StoredBindings, StoredQuiet, StoredUsage
from mud_assistant.assistant.journal.tables.removal import Pruned, next_prune_after
from mud_assistant.assistant.journal.tables.stream import LoadedStream, StoredStream

__all__ = [
    "NO_CHANGE",
    "Accepted",
    "AlreadyRecorded",
    "BrokenRecord",
    "Cleared",
    "Fenced",
    "Forgotten",
    "HeldElsewhere",
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
    "OpeningRefused",
    "Parked",
    "Pruned",
    "ReadOnly",
    "Recovered",
    "RunRecord",
    "Sound",
    "Store",
    "StoredBindings",
    "StoredJournal",
    "StoredMutes",
    "StoredQuiet",
    "StoredStream",
    "StoredUsage",
    "StreamChange",
    "StreamEntry",
    "UnknownEffect",
    "UnknownRun",
    "is_news",
    "next_prune_after",
]
