"""Decides when and what to ask: events, tick, ReAct loop, prompt, memory, worlds, the command line.

Read `loop/react.py` first. What wakes it is in `events/classify.py`, when it thinks in the table of `events/tick.py`.
"""
