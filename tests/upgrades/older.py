"""Shows that each earlier program refuses a journal of today and touches nothing: `python -m tests.upgrades.older`.

It runs the program of each stage on a journal that the program of today has written, and on one whose version is one
higher, in SQLite and in PostgreSQL, and writes what happened to `fixtures/older.json`. `make test` reads that, and
tries the same with the program of today (`tests/assistant/journal/file/test_earlier_copy.py`).
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from mud_assistant.assistant.journal.postgres.schema import STEPS
from mud_assistant.assistant.journal.schema import SCHEMA
from tests.postgres import PostgresServer, find_programs
from tests.upgrades.going_on import journal_in_database, journal_in_file
from tests.upgrades.make import SETTINGS, Commit
from tests.upgrades.model import fake_model
from tests.upgrades.stages import FIXTURES, JOURNAL, STAGES, Stage

TABLE = FIXTURES / "older.json"
NEWEST = STAGES[-1]
_SECONDS = 300


def main() -> None:
    """Try each stage, and write the table."""
    programs = find_programs()
    assert programs is not None
    server = PostgresServer(programs)
    with TemporaryDirectory() as place, fake_model("--answers") as url:
        folder = Path(place)
        (folder / "today").mkdir()
        journal_in_file(NEWEST, folder / "today")
        journal_in_database(NEWEST, folder / "today", server)
        tried = [found for stage in STAGES for found in _tried(stage, folder, server, url)]
    server.close()
    TABLE.write_text(json.dumps(tried, indent=1) + "\n")


def _tried(stage: Stage, folder: Path, server: PostgresServer, url: str) -> Iterator[dict[str, object]]:
    """Yield what the program of a stage makes of each journal that is newer than it."""
    (folder / stage.commit).mkdir()
    commit = Commit(stage, folder / stage.commit)
    for version in sorted({SCHEMA.version, SCHEMA.version + 1}):
        if version <= stage.tables:
            continue
        home = folder / f"{stage.commit}-{version}"
        _settings(home, url, f'file = "{JOURNAL}"')
        shutil.copy(folder / "today/home" / JOURNAL, home)
        with closing(sqlite3.connect(home / JOURNAL)) as db:
            db.execute("PRAGMA journal_mode = DELETE").fetchone()
            db.execute(f"PRAGMA user_version = {version}")
            db.commit()
        before = _sums(home)
        yield _outcome(commit, home, f"SQLite, tables of version {version}") | {"unchanged": _sums(home) == before}
    schema = f"of_{NEWEST.commit}"
    for version in (len(STEPS), len(STEPS) + 1) if stage.has_postgres else ():
        if version <= stage.postgres_tables:
            continue
        server.execute(f"UPDATE {schema}.meta SET value = '{version}' WHERE key = 'schema version'")  # noqa: S608
        home = folder / f"{stage.commit}-database-{version}"
        _settings(home, url, f'url = "{server.url(schema)}"')
        rows = _rows(server, schema)
        outcome = _outcome(commit, home, f"PostgreSQL, tables of version {version}")
        yield outcome | {"unchanged": _rows(server, schema) == rows}


def _settings(home: Path, url: str, journal: str) -> None:
    (home / "keys").mkdir(parents=True)
    (home / "keys/local").write_text("sk-of-nobody-0123456789abcdef\n")
    (home / "keys/local").chmod(0o600)
    (home / "assistant.toml").write_text(SETTINGS.format(url=url, own="", journal=journal))


def _outcome(commit: Commit, home: Path, journal: str) -> dict[str, object]:
    """Let the stage's trial open the journal of these settings, and return how it ended."""
    run = subprocess.run(
        commit.command("trial", "--json"), input="Sage, hello\n", cwd=home, env=commit.environment(),
        capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    said = run.stderr.strip().replace(str(home), "HOME").splitlines()
    said = [re.sub(r"postgresql://\S+", "DATABASE", line) for line in said]
    sentence = next((line for line in said if "newer" in line), said[-1] if said else "")
    return {"program": commit.stage.commit, "journal": journal, "status": run.returncode, "sentence": sentence}


def _sums(home: Path) -> dict[str, str]:
    return {
        path.name: sha256(path.read_bytes()).hexdigest() for path in home.iterdir() if path.name.startswith(JOURNAL)
    }


def _rows(server: PostgresServer, schema: str) -> list[tuple[str, str]]:
    """Return each table of a schema with a checksum of its rows, as text."""
    tables = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", (schema,))
    summed = "SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {}.{} t"
    return [(name, server.execute(summed.format(schema, name))[0][0]) for (name,) in tables]


if __name__ == "__main__":
    main()
