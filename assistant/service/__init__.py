"""Many assistants in one process, whatever game they live in: what they share, and the life of each.

Each name is imported from its own module: household.py, member.py, place.py, home.py, options.py.
"""
