"""Fake model servers: the real wire protocols over scripted answers. Import them from `llm.testing`."""
