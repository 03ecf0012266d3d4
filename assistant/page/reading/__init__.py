"""Reads runs and spending from the journal for the page: plain functions, which `reader.py` calls in a thread.

search.py        finds runs; summary.py sums each up
run_view.py      shows one run as a tree
principals.py    finds players, and counts what is kept of one
money.py         what was spent by day, assistant, player and model, and the pace of the month
recorded.py      reads runs as values, for replay as well; wording.py says how they ended
"""
