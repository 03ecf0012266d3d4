"""AI characters that live inside a text game: the one name under which all of this is imported.

In a checkout the four packages are links to the folders beside this one. Where git cannot make links, as on Windows
without its developer mode, they are found there all the same.
"""

from __future__ import annotations

from pathlib import Path

from mud_assistant.former_names import understand

if not Path(__file__).with_name("llm").is_dir():
    __path__.append(str(Path(__file__).parents[1]))

understand()
