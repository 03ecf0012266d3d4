"""The checks of what keeps an assistant from working, one sentence for each; the doctors show them.

finding.py       the result of a check; imports nothing of ours, so that it can report that a module of ours is hidden
check_runner.py  runs checks one after the other, each with a deadline, and shows each result
model.py         a model: its key, its server, its tools, its context
probes.py        the one question that a model is asked, and a look at the one that comes with the program
journal.py       the journal's file and the disk it is on
web.py           the search providers and page providers of [web], made with their keys
doctor.py        all of them, in order
"""
