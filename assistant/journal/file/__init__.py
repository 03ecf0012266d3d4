"""The journal's file on disk: tables and versions, connections, the mark beside it, rewriting."""
