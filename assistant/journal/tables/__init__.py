"""The tables of the journal, one idea a file. SQL only; called on the writer's thread."""
