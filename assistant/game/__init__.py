"""`mud-assistant game`: makes a small Evennia game with an assistant in it, starts it, and stops it.

Everything here runs outside the game, as an owner would: it writes files and calls the launcher `evennia`. Neither
Django nor Evennia is imported, and no reactor is needed.
"""
