"""The stages at which this program was landed, and what each of them wrote: journals, settings, a game.

`fixtures/COMMIT.tar.xz` holds `home/` (settings, a key, a journal in SQLite that was left by a kill), `game/` (the
files of a game that name our modules), `postgres.sql`, and what the stage itself said of its settings.
`python -m tests.upgrades.make` makes them again.
"""

from __future__ import annotations

import sqlite3
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from msgspec import Struct

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).with_name("fixtures")
#: The journal in the home of a stage.
JOURNAL = "sage.journal"
#: Stands in a fixture for what is of one machine: an address, a schema.
PLACEHOLDER = "PLACEHOLDER"
_PACKAGES = ("assistant", "llm", "resilience", "tools", "mud_assistant")
_EARLY = 'excuse = "hums."\nexcuse_every_seconds = 30\nbudget_excuse = "yawns."\nneeds = { move = 0 }\n'
_LATER = 'rate_excuse = "raises a hand."\nwaking = "stirs."\n'
_COMMANDS = ("commands/default_cmdsets.py", "docs/evennia.md", "import all_commands")
_LINES = ("server/conf/assistants.py", "docs/evennia.md", "INSTALLED_APPS = ")
_GAME = (_COMMANDS, _LINES)


class Stage(Struct, frozen=True):
    """A commit that was landed. `settings` are lines of `[assistant]` as it knew them."""

    commit: str
    #: The version of its tables in SQLite.
    tables: int
    settings: str
    #: Files of a game as the docs of that commit told owners to write them: the file, the page, a word of the block.
    written: Sequence[tuple[str, str, str]]
    #: The version of its tables in PostgreSQL, 0 when it had none.
    postgres_tables: int = 0
    module: str = "assistant"
    folders: Sequence[str] = _PACKAGES

    @property
    def has_postgres(self) -> bool:
        """Whether it could keep its journal in PostgreSQL."""
        return self.postgres_tables > 0

    @property
    def file(self) -> Path:
        """The fixture."""
        return FIXTURES / f"{self.commit}.tar.xz"

    def unpack(self, folder: Path) -> Path:
        """Unpack the fixture into an empty folder and return it."""
        with tarfile.open(self.file) as fixture:
            fixture.extractall(folder, filter="data")
        return folder


#: Since tools may lie in a game. Before, they were added to a package of ours.
_TOOL = ("world/ai_tools.py", "docs/adding-a-tool.md", "class HumArguments")
STAGES = (
    Stage("5747b1e", 2, _EARLY, _GAME),
    Stage("2e5e86e", 3, _EARLY + _LATER, _GAME),
    Stage("be6d829", 4, 'fallback_line = "hums."\n' + _LATER, _GAME, postgres_tables=1),
    Stage("83cfdd5d", 7, 'fallback_line = "hums."\n', (*_GAME, _TOOL), postgres_tables=4, module="mud_assistant"),
)
#: What is counted in a journal, by the statement that counts it. Notes became memories.
_COUNTED = {
    "events": "SELECT count(*) FROM {0}events",
    "runs": "SELECT count(*) FROM {0}runs",
    "answers": "SELECT count(*) FROM {0}responses",
    "results": "SELECT count(*) FROM {0}results",
    "stream entries": "SELECT count(*) FROM {0}stream",
    "memories": "SELECT count(*) FROM {0}memories",
    "goals": "SELECT count(*) FROM {0}goals",
    "mutes": "SELECT count(*) FROM {0}muted",
    "usage": "SELECT count(*) FROM {0}usage",
    "keys": "SELECT count(*) FROM {0}key_bindings",
    "acquaintances": "SELECT count(*) FROM {0}acquaintances",
}


# Any: a database's row.
def count(execute: Callable[[str], Sequence[Any]], prefix: str = "") -> Mapping[str, int]:
    """Count what is in a journal; what its tables do not know yet is left out."""
    counted: dict[str, int] = {}
    for name, statement in _COUNTED.items():
        for table in (statement, statement.replace("memories", "notes")):
            with suppress(sqlite3.OperationalError, psycopg.errors.UndefinedTable):
                counted.setdefault(name, execute(table.format(prefix))[0][0])
    return counted


def packed(folder: Path, file: Path) -> None:
    """Pack a folder, without times and owners."""
    file.parent.mkdir(exist_ok=True)

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        return entry

    with tarfile.open(file, "w:xz", preset=9) as fixture:
        for path in sorted(folder.iterdir()):
            fixture.add(path, path.name, filter=plain)
