"""The tables of the journal, one idea a file. What takes a connection runs on the writer's thread."""
