"""The operator's page outside games: beside a trial, and of an assistant or a journal without a terminal.

arguments.py     what `mud-assistant serve` understands
run.py           runs `mud-assistant serve`, and the page beside a trial; the world of a journal that is only looked at
standing.py      opens the page, and says where it is
local_host.py    the world as the page sees it: assistants that are set by assistant.toml
file.py          reads and changes assistant.toml
"""
