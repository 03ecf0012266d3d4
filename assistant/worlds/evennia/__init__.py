"""Evennia as a world: a character of the game that hears and acts for an assistant. Never imported by the core."""
