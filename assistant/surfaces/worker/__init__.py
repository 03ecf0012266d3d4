"""Assistants that live on several machines, one journal in PostgreSQL for all: `mud-assistant worker` and `tell`.

arguments.py     what both commands understand
run.py           runs `mud-assistant worker`
members.py       whom a worker runs, with the settings of each
colony.py        the world that they share in this process: who is there, who has left for another process
tell.py          runs `mud-assistant tell`: says something to one of them, wherever it lives, and shows the answer
"""
