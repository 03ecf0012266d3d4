"""The journal: what was heard, thought and done, written down before it counts."""

from assistant.journal.journal import Accepted, InboxFullError, Journal
from assistant.journal.memory import MemoryJournal, RunRecord

__all__ = ["Accepted", "InboxFullError", "Journal", "MemoryJournal", "RunRecord"]
