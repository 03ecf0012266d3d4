"""Fake model servers: the true wire protocols over scripted answers. Import them from `llm.testing`."""
