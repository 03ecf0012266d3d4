"""The durable journal in SQLite: one file, one writer's thread, group commits."""
