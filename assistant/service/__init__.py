"""Runs many assistants in one process, for any game: what they share, and the life cycle of each.

Each name is imported from its own module: household.py, member.py, place.py, home.py, options.py.
"""
