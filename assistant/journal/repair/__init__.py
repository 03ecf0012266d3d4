"""Finds damage in a journal's file and copies what can still be read."""
