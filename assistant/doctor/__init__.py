"""The command `mud-assistant doctor`: what stands in an assistant's way, one sentence for each check.

finding.py       what a check comes to; imports nothing of ours, so that it can say that something of ours is hidden
examination.py   runs checks one after the other, each with a deadline, and shows what each found
model.py         a model: its key, its server, its tools, its context
embedded.py      the model that comes with the program
keeping.py       the journal's file and the disk it is on
web.py           one provider of searches or pages, whichever it is
run.py           the command
"""
