"""A game in memory: rooms, things and people, for trial runs and end-to-end tests."""

from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld

__all__ = ["EmbeddedBody", "EmbeddedWorld"]
