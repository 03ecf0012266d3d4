"""`mud-assistant game`: makes a small Evennia game with an assistant in it, starts it, and stops it.

Everything here runs outside the game, as an owner would do it: it writes files and calls the launcher `evennia`. It
imports neither Django nor Evennia, and needs no reactor.
"""
