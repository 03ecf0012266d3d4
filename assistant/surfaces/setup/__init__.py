"""The command `mud-assistant setup`: asks for what an assistant needs, writes the settings, and tests them.

arguments.py    the options
dialogue.py     questions and checked answers, one answer a line, read without blocking the reactor
keys.py         the questions about where a key is kept; a key entered anew may go to its new server
thinking.py     the questions about the model
searching.py    the questions about the web
writing.py      the answers that are not written yet; files are written whole or not at all
run.py          the command

Nothing is written before the last question is answered.
"""
