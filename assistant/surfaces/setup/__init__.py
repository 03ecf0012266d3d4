"""The command `mud-assistant setup`: asks for what an assistant needs, writes the settings, and tests them.

dialogue.py     questions and checked answers, one answer a line
typed.py        lines of standard input, read without blocking the reactor; secrets without echo
keeping.py      the questions about where a key is kept
thinking.py     the questions about the model
searching.py    the questions about the web
rebinding.py    lets a key that was entered anew go to its new server
writing.py      the answers that are not written yet; files are written whole or not at all
run.py          the command

Nothing is written before the last question is answered.
"""
