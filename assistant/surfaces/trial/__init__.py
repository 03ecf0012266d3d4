"""`mud-assistant trial`: lets a visitor talk with an assistant in a small place, in a terminal.

run.py         a whole trial: a service of one assistant (READ FIRST)
converse.py    the conversation: the place, the assistant, the visitor
session.py     obeys the visitor's commands, which commands.py parses
watching.py    what the visitor hears and sees
terminal.py    the prompt at a terminal, whose width wrapping.py knows
piped.py       the screen and the input without one
"""
