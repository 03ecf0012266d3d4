"""Opens what an earlier stage wrote with the program of today, lets it go on, and says what is lost of it."""

from __future__ import annotations

import ast
import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from twisted.logger import capturedLogs, formatEvent

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import read_settings, read_tables, with_new_names
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.schema import migrate
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.assistant.surfaces.upgrading import upgrade
from tests.postgres import PostgresServer
from tests.upgrades.model import fake_model
from tests.upgrades.stages import JOURNAL, PLACEHOLDER, ROOT, Stage

#: What is said to it, and what it must still know. It is whispered, since the first notes do not say who else heard.
ASKED = "/unmute\n/whisper what do you remember of the bridge\n"
KNOWN = "the bridge is out"
#: What each row is known by, in the tables of the earlier stage and in those of today.
KEPT: Mapping[str, tuple[str, str]] = {
    "events": ("SELECT assistant, id, payload FROM events",) * 2,
    "runs": ("SELECT assistant, seq, opened_at FROM runs",) * 2,
    "answers": ("SELECT run, step, payload FROM responses",) * 2,
    "intents": ("SELECT run, step, idx, payload FROM intents",) * 2,
    "results": ("SELECT run, step, idx, payload FROM results",) * 2,
    "stream": ("SELECT assistant, payload FROM stream",) * 2,
    "notes": ("SELECT assistant, text, about_id FROM notes", "SELECT assistant, text, who FROM memories"),
    "memories": ("SELECT assistant, id, text, who FROM memories",) * 2,
    "goals": ("SELECT assistant, id, whom FROM goals",) * 2,
    "mutes": ("SELECT assistant, principal FROM muted",) * 2,
    "usage": ("SELECT day, account FROM usage",) * 2,
    "keys": ("SELECT reference, origin FROM key_bindings",) * 2,
}
#: What the owner or the player took back since: the visitor asks to be heard again.
TAKEN_BACK = frozenset({"mutes"})
#: Runs a statement and returns its rows.
Execute = Callable[[str], list[Any]]


class Upgraded(msgspec.Struct, frozen=True):
    """What became of one thing: how many rows or lines there were and are, what is lost, and what it said."""

    before: int
    after: int
    lost: tuple[str, ...]
    answered: bool = True


def rows_of(execute: Execute, *, today: bool) -> dict[str, Counter[Any]]:
    """Return the rows of each table that is there."""
    found = {}
    for name, statements in KEPT.items():
        try:
            found[name] = Counter(tuple(map(_plain, row)) for row in execute(statements[today]))
        except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):  # an earlier stage had no such table
            continue
    return found


# Any: a value of a row.
def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def _lost(before: Mapping[str, Counter[Any]], after: Mapping[str, Counter[Any]]) -> list[str]:
    """Name every row that is not there any more."""
    return [f"{name}: {row}" for name, rows in before.items() for row in (rows - after.get(name, Counter()))]


def journal_in_file(stage: Stage, folder: Path) -> dict[str, Upgraded]:
    """Open the journal of the stage, which was left by a kill, and let it go on."""
    home = stage.unpack(folder) / "home"
    path = home / JOURNAL
    with closing(sqlite3.connect(path)) as db:
        before = rows_of(lambda sql: db.execute(sql).fetchall(), today=False)
    for part in ("", "-wal"):  # as it was: that connection moved the log into the file
        path.with_name(path.name + part).unlink(missing_ok=True)
    stage.unpack(folder)
    opened, _ = open_file(path, SCHEMA, 0.0)
    assert opened is not None
    with closing(opened) as db:
        lost = _lost(before, rows_of(lambda sql: db.execute(sql).fetchall(), today=True))
    said = _go_on(home, f'file = "{JOURNAL}"')
    with closing(sqlite3.connect(path)) as db:
        return _both(before, rows_of(lambda sql: db.execute(sql).fetchall(), today=True), lost, said)


def journal_in_database(stage: Stage, folder: Path, server: PostgresServer) -> dict[str, Upgraded]:
    """The same in PostgreSQL, from what `pg_dump` wrote of the stage's schema."""
    schema = f"of_{stage.commit}"
    home = stage.unpack(folder) / "home"
    server.drop_schema(schema)
    server.execute((folder / "postgres.sql").read_text().replace(PLACEHOLDER, schema))
    url = server.url(schema)
    with closing(connect(url, None)) as db:
        before = rows_of(lambda sql: db.execute(sql).fetchall(), today=False)
        db.run("BEGIN")
        migrate(db)
        db.run("COMMIT")
        lost = _lost(before, rows_of(lambda sql: db.execute(sql).fetchall(), today=True))
    said = _go_on(home, f'url = "{url}"')
    with closing(connect(url, None)) as db:
        return _both(before, rows_of(lambda sql: db.execute(sql).fetchall(), today=True), lost, said)


def _both(
    before: Mapping[str, Counter[Any]], after: Mapping[str, Counter[Any]], lost: list[str], said: str
) -> dict[str, Upgraded]:
    """Return what became of the journal, and of the memories in it."""
    lost += [row for row in _lost(before, after) if row.partition(":")[0] not in TAKEN_BACK]
    memories = before.get("memories") or before.get("notes") or Counter()
    is_memory = [row for row in lost if row.startswith(("memories", "notes"))]
    remembered = after["memories"].total()
    return {
        "journal": Upgraded(
            sum(rows.total() for rows in before.values()),
            sum(rows.total() for name, rows in after.items() if name not in {"notes"} - before.keys()),
            tuple(lost),
            "answered" in said or KNOWN in said,
        ),
        "memories": Upgraded(memories.total(), remembered, tuple(is_memory), KNOWN in said),
    }


def _go_on(home: Path, journal: str) -> str:
    """Let the trial of today take up what was left, and ask it something; return what it did, as JSON lines."""
    with fake_model("--answers") as url:
        settings = home / "assistant.toml"
        text = settings.read_text().replace(PLACEHOLDER, url)
        settings.write_text(
            "\n".join(journal if line.startswith(("file =", 'url = "post')) else line for line in text.splitlines())
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MUD_ASSISTANT_FETCH_BETTER": "no"}
        trial = [sys.executable, "-m", "mud_assistant", "trial", "--json"]
        run = subprocess.run(
            trial, input=ASKED, cwd=home, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    assert run.returncode == 0, run.stderr
    return run.stdout


def settings_of(stage: Stage, folder: Path) -> tuple[Upgraded, list[str]]:
    """Read the settings of the stage; return what became of each, and what the log says."""
    stage.unpack(folder)
    meant = with_new_names(json.loads((folder / "settings.json").read_text()))
    everything = with_new_names(_without_none(json.loads((folder / "every_setting.json").read_text())))
    settings = folder / "home/assistant.toml"
    settings.write_text(settings.read_text().replace(PLACEHOLDER, meant["model"]["url"]))
    with capturedLogs() as logged:
        found = json.loads(read_settings(settings, {}).model_dump_json())
    written = [path for path, _ in _paths(read_tables(settings.read_text()))]  # a default may be another today
    then, now = dict(_paths(meant)), dict(_paths(found))
    lost = [f"{path} = {then[path]}" for path in written if now.get(path) != then[path]]
    names = [path for path, value in _paths(everything) if value != {}]
    known = dict(_paths(json.loads(Config.model_validate(everything).model_dump_json())))
    lost += [path for path in names if path not in known]
    count = len(names)
    return Upgraded(count, count - len(lost), tuple(lost)), [formatEvent(event) or "" for event in logged]


# Any: JSON.
def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(inner) for name, inner in value.items() if inner is not None}
    return value


# Any: JSON.
def _paths(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each setting."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _paths(inner, f"{at}.{name}".lstrip("."))
    else:
        yield at, value


def game_of(stage: Stage, folder: Path) -> tuple[Upgraded, list[str]]:
    """Let the files of a game name the modules of today; return how many names lead somewhere, and what was said."""
    game, said = stage.unpack(folder) / "game", list[str]()
    before = sum(
        len(list(_names(path.read_text(), ("assistant", "tools", "llm", "mud_assistant"))))
        for path in game.rglob("*.py")
    )
    upgrade(game, said.append)
    assert upgrade(game, said.append) == 0
    names = [name for path in sorted(game.rglob("*.py")) for name in _names(path.read_text(), ("mud_assistant",))]
    lost = [name for name in names if not _leads_somewhere(name)]
    return Upgraded(before, len(names), tuple(lost)), said


def _names(text: str, packages: tuple[str, ...]) -> Iterator[str]:
    """Yield each name of ours in a file, as `module:name` where it is imported from there."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in packages:
            yield from (f"{node.module}:{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (f"{name.name}:" for name in node.names if name.name.split(".")[0] in packages)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.split(".")[0] in packages
            and " " not in node.value
            and "." in node.value
        ):
            yield f"{node.value}:"


def _leads_somewhere(name: str) -> bool:
    """Tell whether a module is there and has this at its top, without importing it: it may need Evennia."""
    module, _, inner = name.partition(":")
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return False
    tops = ast.parse(file.read_text()).body
    known = {getattr(top, "name", "") for top in tops}
    known |= {alias.asname or alias.name for top in tops if isinstance(top, ast.ImportFrom) for alias in top.names}
    known |= {
        target.id
        for top in tops
        if isinstance(top, ast.Assign)
        for target in top.targets
        if isinstance(target, ast.Name)
    }
    return not inner or inner in known or (path / f"{inner}.py").exists()
