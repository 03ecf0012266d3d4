"""The search index of a character's memories: words, names, audiences and vectors, derived from the journal."""

from mud_assistant.assistant.memory.recall.index import RecallIndexError
from mud_assistant.assistant.memory.recall.search import RecallHits, RecallQuery
from mud_assistant.assistant.memory.recall.sqlite.file_index import SqliteIndex
from mud_assistant.assistant.memory.recall.vectors import Vector, make_vector

__all__ = ["RecallHits", "RecallIndexError", "RecallQuery", "SqliteIndex", "Vector", "make_vector"]
