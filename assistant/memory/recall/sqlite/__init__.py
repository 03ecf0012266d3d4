"""The index of memories in a SQLite file, or in memory."""
