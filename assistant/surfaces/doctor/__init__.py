"""The command `mud-assistant doctor`: checks what keeps an assistant from working, one sentence for each check.

finding.py       the result of a check; imports nothing of ours, so that it can report that a module of ours is hidden
examination.py   runs checks one after the other, each with a deadline, and shows each result
model.py         a model: its key, its server, its tools, its context
embedded.py      the model that comes with the program
keeping.py       the journal's file and the disk it is on
web.py           one search provider or page provider
run.py           the command
"""
