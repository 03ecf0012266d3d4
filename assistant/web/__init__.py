"""The web of a process as the settings have it: its providers with their keys, and each assistant's two tools."""
