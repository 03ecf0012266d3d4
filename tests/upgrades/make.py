"""Makes the fixtures of `tests/upgrades/fixtures` again, each by the program of its commit.

    python -m tests.upgrades.make                 all of them: four minutes
    python -m tests.upgrades.make 2e5e86e         one

A commit's files come from this repository's history (`git archive`) and run in the environment of today: every commit
ran with the packages of its time in the versions that are locked now. Games are made with `.venv-oldest`, which has
Evennia. A fixture is what an owner's folder held when the machine went down: a conversation of six lines, and one more
that the model had not answered when the program was killed. It was started again, the visitor asked not to be heard any
more, and it was killed once more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.postgres import PostgresServer, find_programs
from tests.upgrades.model import fake_model
from tests.upgrades.stages import JOURNAL, PLACEHOLDER, ROOT, STAGES, Stage, count, packed

#: What is said to each stage's assistant, and the line that is never answered.
LINES = """Sage, hello
Sage, remember that the bridge is out
/whisper remember that I like tea
Sage, what do you remember of the bridge
I am a miller, and my name is Visitor.
Sage, remind me in ten minutes to feed the hens
"""
LAST = "Sage, wait for me\n"
#: How long one line may take, and a whole conversation, in seconds.
_LINE_SECONDS, _TALK_SECONDS = 60, 300
SETTINGS = """# The settings of a stage, as an owner wrote them.
[model]
provider = "local"
model = "sage"
url = "{url}"
key = "file:keys/local"

[assistant]
persona = "You are an old scholar who keeps the library."
{own}
[journal]
{journal}
keep_days = 36500

[budget.total]
tokens = 5_000_000
"""
_KEY = "sk-of-nobody-0123456789abcdef\n"


class Commit:
    """The files of a commit, in a folder of their own."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage, self.folder = stage, folder
        names = [name for name in stage.folders if _git("ls-tree", stage.commit, name)]
        with subprocess.Popen(["git", "archive", stage.commit, *names], cwd=ROOT, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)

    def environment(self) -> dict[str, str]:
        """Return the environment in which its modules are found first."""
        return {**os.environ, "PYTHONPATH": str(self.folder), "MUD_ASSISTANT_FETCH_BETTER": "no"}

    def command(self, *arguments: str) -> list[str]:
        """Return a call of its command line."""
        return [sys.executable, "-m", self.stage.module, *arguments]

    def helper(self, *arguments: str, python: str = sys.executable, folder: Path | None = None) -> str:
        """Run `in_stage.py` and return what it printed."""
        script = str(Path(__file__).with_name("in_stage.py"))
        run = subprocess.run(
            [python, script, *arguments], env=self.environment(), cwd=folder, check=True, capture_output=True, text=True
        )
        return run.stdout


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def make(stage: Stage, server: PostgresServer) -> None:
    """Make one stage's fixture."""
    with TemporaryDirectory() as place, fake_model() as url:
        folder = Path(place)
        for name in ("commit", "fixture", "database"):
            (folder / name).mkdir()
        commit, home = Commit(stage, folder / "commit"), folder / "fixture/home"
        _talk(commit, home, url, f'file = "{JOURNAL}"', lambda rows: _holds(home / JOURNAL, rows))
        (home.parent / "settings.json").write_text(commit.helper("read", "assistant.toml", folder=home))
        (home.parent / "every_setting.json").write_text(commit.helper("settings"))
        _game(commit, home.parent / "game")
        counts = {"journal sqlite": _counted(home / JOURNAL)}
        if stage.has_postgres:
            schema = server.new_schema()
            where = f'url = "{server.url(schema)}"'

            def in_server(rows: str, schema: str = schema) -> bool:
                return bool(server.execute(f'SELECT 1 FROM "{schema}".{rows}'))  # noqa: S608

            _talk(commit, folder / "database/home", url, where, in_server)
            counts["journal postgres"] = count(server.execute, f'"{schema}".')
            (home.parent / "postgres.sql").write_text(_dumped(server, schema))
        (home.parent / "counts.json").write_text(json.dumps(counts, indent=1))
        _settle(home, url)
        packed(home.parent, stage.file)
        print(f"{stage.commit}: {stage.file.stat().st_size:,} bytes, {counts}")


def _talk(commit: Commit, home: Path, url: str, journal: str, holds: Callable[[str], bool]) -> None:
    """Let the stage's own trial have the conversation, and kill it while the model is asked."""
    (home / "keys").mkdir(parents=True, mode=0o700)
    (home / "keys/local").write_text(_KEY)
    (home / "keys/local").chmod(0o600)
    own = commit.stage.settings
    (home / "assistant.toml").write_text(SETTINGS.format(url=url, own=own, journal=journal))
    trial = commit.command("trial", "--json")
    subprocess.run(
        trial, input=LINES, text=True, cwd=home, env=commit.environment(), check=True, timeout=_TALK_SECONDS,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    for line, rows in ((LAST, "runs WHERE closed_at IS NULL"), ("/mute\n", "muted")):
        with subprocess.Popen(
            trial, cwd=home, env=commit.environment(), stdin=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL
        ) as process:
            try:
                _wait_until(process, line, partial(holds, rows))
            finally:
                process.send_signal(signal.SIGKILL)


def _wait_until(process: subprocess.Popen[str], line: str, is_done: Callable[[], bool]) -> None:
    """Type a line, and wait until it has been taken down."""
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()
    until = time.monotonic() + _LINE_SECONDS
    while not is_done():
        assert time.monotonic() < until, line
        time.sleep(0.2)


def _holds(journal: Path, rows: str) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
            return bool(db.execute(f"SELECT 1 FROM {rows}").fetchone())  # noqa: S608
    except sqlite3.OperationalError:  # it is being opened
        return False


def _counted(journal: Path) -> Mapping[str, int]:
    """Count a copy, since SQLite would move the log of a killed program into its file."""
    with TemporaryDirectory() as place:
        for ending in ("", "-wal"):
            if (found := journal.with_name(journal.name + ending)).exists():
                shutil.copy(found, place)
        with closing(sqlite3.connect(Path(place, journal.name))) as db:
            return count(lambda sql: db.execute(sql).fetchall())


def _settle(home: Path, url: str) -> None:
    """Leave out what only this machine knows: the port of the fake, and SQLite's shared memory."""
    text = (home / "assistant.toml").read_text()
    (home / "assistant.toml").write_text(text.replace(url, PLACEHOLDER))
    for path in home.glob("*-shm"):
        path.unlink()


def _game(commit: Commit, folder: Path) -> None:
    """Make a game, with what the docs of that commit told an owner to put into its files."""
    with TemporaryDirectory() as place:
        whole = Path(place, "game")
        commit.helper("game", str(whole), python=str(ROOT / ".venv-oldest/bin/python"))
        for name in ("server/conf/settings.py", "server/conf/at_initial_setup.py", "server/conf/assistant.toml"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole / name, folder / name)
        shutil.copy(whole / "mud-assistant-game.json", folder)
    (folder / "server/conf/secret_settings.py").write_text("")
    for name, page, mark in commit.stage.written:
        page_text = _git("show", f"{commit.stage.commit}:{page}")
        blocks = re.findall(r"^( *)```python\n(.*?)^\1```", page_text, re.MULTILINE | re.DOTALL)
        [text] = [block for _, block in blocks if mark in block]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        is_inside = text.startswith(" ")  # of a method that Evennia's template has
        (folder / name).write_text(f"class Commands:\n    def at_cmdset_creation(self):\n{text}" if is_inside else text)


def _dumped(server: PostgresServer, schema: str) -> str:
    """Return the tables as statements, under the name `PLACEHOLDER` for the schema."""
    dump = ["pg_dump", "--inserts", "--rows-per-insert=100", "--no-owner", f"--schema={schema}", server.url()]
    text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    kept = [line for line in text.splitlines() if line and not line.startswith(("--", "\\", "SET transaction_timeout"))]
    return "\n".join(kept).replace(schema, PLACEHOLDER) + "\n"


def main(*wanted: str) -> None:
    """Make the fixtures that are named, or all."""
    programs = find_programs()
    assert programs is not None
    server = PostgresServer(programs)
    try:
        for stage in STAGES:
            if not wanted or stage.commit in wanted:
                make(stage, server)
    finally:
        server.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
