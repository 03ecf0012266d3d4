"""Runs the code of an earlier commit: makes its files of a game, or shows its settings.

Imports nothing of today's code. `PYTHONPATH` names the folder of the commit.

    python in_stage.py game FOLDER          what `mud-assistant game` wrote, without a database
    python in_stage.py settings             each setting by its name, with its default, as JSON
    python in_stage.py read FILE            what the settings of a file mean, as JSON
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

#: What the names of our modules begin with there.
PREFIX = "mud_assistant." if Path(os.environ["PYTHONPATH"], "mud_assistant").is_dir() else ""
#: Where things were, the newest place first.
PLACES = {
    "Config": ("assistant.config.schema", "assistant.config"),
    "read_settings": ("assistant.config.settings", "assistant.settings"),
    "Maker": ("assistant.surfaces.game.making", "assistant.game.making"),
    "GameFolder": ("assistant.surfaces.game.folder", "assistant.game.folder"),
    "GameOptions": ("assistant.surfaces.game.making", "assistant.game.making"),
}
#: What a class was called before.
BEFORE = {"GameOptions": "Wanted"}


# Any: whatever that commit has there.
def find(name: str) -> Any:
    """Return a class or function of the commit, by its present name."""
    for place in PLACES[name]:
        try:
            module = importlib.import_module(PREFIX + place)
        except ModuleNotFoundError:
            continue
        for known in (name, BEFORE.get(name, name)):
            if hasattr(module, known):
                return getattr(module, known)
    raise LookupError(name)


def main(wanted: str, *more: str) -> None:
    """Do what is wanted."""
    if wanted == "settings":
        print(find("Config")().model_dump_json())
    elif wanted == "read":
        print(find("read_settings")(Path(more[0]), {}).model_dump_json())
    else:
        folder = find("GameFolder")(Path(more[0]).resolve())
        model = {"provider": "local", "model": "sage", "url": "http://127.0.0.1:8080/v1"}
        options = find("GameOptions")(model, "Sage", 14010)
        find("Maker")(dict(os.environ), lambda said: print(json.dumps(said))).make(folder, options)


if __name__ == "__main__":
    main(*sys.argv[1:])
