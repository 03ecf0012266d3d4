"""The command `mud-assistant setup`: asks for what an assistant needs, writes the settings, and tests them.

dialogue.py     questions and checked answers, one answer a line
typed.py        lines of standard input, read without blocking the reactor; secrets without echo
draft.py        the answers that are not written yet
keeping.py      the questions about where a key is kept
thinking.py     the questions about the model
searching.py    the questions about the web
toml_edit.py    sets values in the text of a settings file and leaves the rest as it is
rebinding.py    lets a key that was entered anew go to its new server
writing.py      writes files whole or not at all
run.py          the command

Nothing is written before the last question is answered.
"""
