"""The command `mud-assistant setup`: asks for what an assistant needs, writes the settings, and tests them.

dialogue.py     questions and checked answers, one answer a line
typed.py        lines of standard input, read without blocking the reactor; secrets without echo
draft.py        what was answered and is not written yet
keeping.py      where a key is to be kept
thinking.py     the questions about the model
searching.py    the questions about the web
toml_edit.py    new values in the text of a settings file, everything else left as it is
rebinding.py    a key entered anew may go to its new server
writing.py      files that are there whole or not at all
run.py          the command

Nothing is written before the last question is answered.
"""
