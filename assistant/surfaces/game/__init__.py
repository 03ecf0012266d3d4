"""`mud-assistant game`: makes a small Evennia game with an assistant in it, starts it, and stops it.

Everything here runs outside the game, as an owner would do it: it writes files and calls the launcher `evennia`. It
imports neither Django nor Evennia, and needs no reactor.

command.py      the command
making.py       a new game and its files
running.py      starts a game and stops it
processes.py    its launcher, its processes, their logs
folder.py       where its files are, its ports, and what is remembered of it
"""
