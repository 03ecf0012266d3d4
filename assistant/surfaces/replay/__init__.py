"""Reads a journal from outside: shows it as a transcript, or runs it again without a network. Writes nothing to it.

transcript.py    the runs, parked events and unknown calls of a journal, in words
as_json.py       them as JSON
again.py         repeats a run, in the surroundings of stage.py
compare.py       what differs between a run and its repetition
command.py       the command
"""

#: The runs that `replay` shows when it is not told how many.
LAST_RUNS = 20
