"""Keeps old messages as the bytes they are sent as."""
