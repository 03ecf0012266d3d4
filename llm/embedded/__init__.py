"""The embedded local model: a real small model in a child process on loopback, for an owner who has no other.

Read `supervisor.py` first. The child processes import this package too, so this file imports nothing.
"""
