"""The search index of a character's memories: words, names, audiences and vectors, in a derived file."""

from assistant.memory.recall.index import RecallIndex, RecallIndexError
from assistant.memory.recall.search import RecallHits, RecallQuery
from assistant.memory.recall.sqlite.file_index import SqliteIndex
from assistant.memory.recall.vectors import Vector, make_vector

__all__ = ["RecallHits", "RecallIndex", "RecallIndexError", "RecallQuery", "SqliteIndex", "Vector", "make_vector"]
