"""A character as a guest in somebody else's game, in a terminal: `mud-assistant play`.

play_arguments.py      what the command understands
watched_guest.py       lets a character play, and shows what it hears, thinks and types
recorded_session.py    lets the person at the terminal play by typing, and keeps both directions as a recording
"""
