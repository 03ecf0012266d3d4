"""The operator's page outside games: beside a trial, and of an assistant or a journal without a terminal.

arguments.py     what `mud-assistant serve` understands
run.py           runs `mud-assistant serve`; the world of a journal that is only looked at
standing.py      listens, and says where the page is
local_host.py    the world as the page sees it: assistants that are set by assistant.toml
file.py          reads and changes assistant.toml
beside.py        opens the page beside a trial
"""
