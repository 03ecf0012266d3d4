"""Runs the assistants of one process, for a game or a trial: what they share, and the life cycle of each.

service.py       all assistants of a process: start, stop, erase, close (READ FIRST)
host.py          what a game or a trial hands to it: settings, hooks, the body of each assistant
parts.py         what all assistants share: journal, budget, keys, network, web, models
runner.py        the life cycle of one assistant
closing.py       ends work within a time limit
handing.py       hands assistants to other processes, and takes in what was said to them there
sharing.py       tells other processes when a server is to be left alone, and heeds what they tell
embedded.py      the embedded models, one server for each model file
usage_store.py   the day's spending, kept over restarts
troubles.py      the troubles that only a person can mend
operations/      what an owner does with assistants, one verb for each deed
wording/         the words for what a service knows

Each name is imported from its own module.
"""
