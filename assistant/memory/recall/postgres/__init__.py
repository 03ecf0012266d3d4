"""The search index of memories in PostgreSQL, so that whichever process runs an assistant finds what it remembers."""
