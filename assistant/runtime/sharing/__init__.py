"""What a process does for a journal that it shares. Imported only where the journal is in PostgreSQL."""
