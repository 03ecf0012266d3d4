"""Prints what becomes of what earlier stages wrote: `python -m tests.upgrades`. Needs the Debian package postgresql."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.postgres import PostgresServer, find_programs
from tests.upgrades.going_on import Upgraded, game_of, journal_in_database, journal_in_file, settings_of
from tests.upgrades.stages import STAGES, Stage

#: The columns, and what is counted in each.
COLUMNS = ("journal, SQLite (rows)", "journal, PostgreSQL (rows)", "settings", "game (names)", "memories")


def cell(found: Upgraded | None) -> str:
    """Return a cell of the table."""
    if found is None:
        return "had none"
    state = "" if found.answered else ", NO ANSWER"
    return f"{found.before} -> {found.after}, lost {len(found.lost)}{state}"


def row(stage: Stage, server: PostgresServer) -> list[Upgraded | None]:
    """Return what became of each thing of a stage."""
    with TemporaryDirectory() as one, TemporaryDirectory() as two, TemporaryDirectory() as three:
        file = journal_in_file(stage, Path(one))
        database = journal_in_database(stage, Path(two), server) if stage.has_postgres else None
        settings, _ = settings_of(stage, Path(three) / "settings")
        game, _ = game_of(stage, Path(three) / "game")
    return [file["journal"], database["journal"] if database else None, settings, game, file["memories"]]


def main() -> int:
    """Print the table and return the exit status: 1 when anything is lost."""
    programs = find_programs()
    assert programs is not None, "install the Debian package postgresql"
    server, lost = PostgresServer(programs), list[str]()
    print("| stage | " + " | ".join(COLUMNS) + " |\n|---" * 1 + "|---" * len(COLUMNS) + "|")
    try:
        for stage in STAGES:
            cells = row(stage, server)
            print(f"| {stage.commit} | " + " | ".join(map(cell, cells)) + " |", flush=True)
            lost += [line for found in cells if found for line in found.lost]
    finally:
        server.close()
    print("\n".join(lost) or "lost: 0")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
