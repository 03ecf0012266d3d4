"""Runs the assistants of one process, for a game or a trial: what they share, and the life cycle of each.

service.py       all assistants of a process: start, stop, erase, close (READ FIRST)
config.py        what a service is made from
parts.py         what all assistants share: journal, budget, keys, network, web, models
runner.py        the life cycle of one assistant
intake.py        the way of events to an assistant; pending_inbox.py keeps them while there is no model
embodiment.py    the tie of an assistant to its world, and to those who watch it
troubles.py      the troubles that only a person can mend; alarms.py notices them
wording/         the words for what a service knows

Each name is imported from its own module.
"""
