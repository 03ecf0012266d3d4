"""A backup is made while the journal is written, is whole or not there, and goes on where it is restored."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mud_assistant.assistant.__main__ import main
from mud_assistant.assistant.journal import Sound
from mud_assistant.assistant.journal.files import GAP
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.backup.archive import MANIFEST, read_manifest, read_members
from mud_assistant.assistant.surfaces.backup.backup_command import LAST_BACKUP, LastBackup, run_backup
from mud_assistant.assistant.surfaces.backup.contents import BackupOptions, CannotBackUp
from mud_assistant.assistant.surfaces.backup.restore_command import RestoreOptions, run_restore
from tests.assistant.journal.keeping import TRIGGER, event, opened, started
from tests.assistant.surfaces.replay.recording import ANSWERED, NOON, record, said, says, writing

ROOT = Path(__file__).parents[4]
KEY = "sk-of-nobody-0123456789abcdef"
SETTINGS = '[model]\nprovider = "local"\nurl = "http://127.0.0.1:1/v1"\nkey = "file:keys/local"\n\n[journal]\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An owner's folder with settings, a character and a key."""
    folder = tmp_path / "home"
    (folder / "characters/sage/lore").mkdir(parents=True)
    (folder / "characters/sage/character.toml").write_text('persona = "An old scholar."\n')
    (folder / "characters/sage/lore/mill.md").write_text("# The mill\nkeys: mill\nIt burned down.\n")
    (folder / "keys").mkdir()
    (folder / "keys/local").write_text(KEY)
    (folder / "assistant.toml").write_text(f'{SETTINGS}file = "sage.journal"\n')
    return folder


async def lived(place: JournalPlace) -> None:
    async with writing(place, "assistant:sage") as journal:
        await record(journal, [said(1)], [says("Hello.")], ANSWERED)


def back_up(folder: Path, to: Path, **more: Any) -> str:
    told: list[str] = []
    assert run_backup(BackupOptions(folder, to, **more), {}, Secrets(), NOON, tell=told.append, note=print) == 0
    return "\n".join(told)


def restore(file: Path, to: Path, **more: Any) -> str:
    told: list[str] = []
    assert run_restore(RestoreOptions(file, to, **more), tell=told.append, note=print) == 0
    return "\n".join(told)


def rows(path: Path, query: str = "SELECT id FROM events ORDER BY seq") -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_what_it_holds_comes_back_and_goes_on(home: Path, tmp_path: Path, reactor: Any) -> None:
    await lived(home / "sage.journal")
    before = files_in(home)
    told = back_up(home, tmp_path / "b.tar.gz")
    assert f"the journal {home / 'sage.journal'}: 1 events, 1 runs, 0 memories" in told
    assert "files of keys are not in it" in told
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o777 == 0o600
    last = msgspec.json.decode((home / LAST_BACKUP).read_bytes(), type=LastBackup)
    assert last == LastBackup(NOON, str(tmp_path / "b.tar.gz"))
    (home / LAST_BACKUP).unlink()
    assert files_in(home) == before
    restore(tmp_path / "b.tar.gz", tmp_path / "elsewhere")
    there = files_in(tmp_path / "elsewhere")
    journal, _ = there.pop("sage.journal"), [before.pop(name) for name in ("sage.journal", "keys/local")]
    assert (there, KEY.encode() in journal) == (before, False)
    async with opened(tmp_path / "elsewhere/sage.journal", reactor) as store:
        assert store.opened == Sound(tmp_path / "elsewhere/sage.journal")
    async with started(tmp_path / "elsewhere/sage.journal", reactor) as again:
        assert await again.pending() == ()  # what was answered is not answered again
        assert await again.interrupted() is None
        await again.accept(event(2), TRIGGER)
        number = int((await again.open_run(await again.pending())).removeprefix("run-"))
    assert number > GAP  # the original may have given the numbers between


async def test_a_run_that_was_open_is_taken_up_in_the_copy(home: Path, tmp_path: Path, reactor: Any) -> None:
    async with writing(home / "sage.journal", "assistant:sage") as journal:
        await journal.accept(event(1), TRIGGER)
        await journal.open_run(await journal.pending())
        back_up(home, tmp_path / "b.tar.gz")
    restore(tmp_path / "b.tar.gz", tmp_path / "elsewhere")
    async with writing(tmp_path / "elsewhere/sage.journal", "assistant:sage") as again:
        left = await again.interrupted()
        assert left is not None
        assert [one.event.id for one in left.events] == ["event-1"]


def test_keys_are_in_it_only_where_they_are_asked_for(home: Path, tmp_path: Path) -> None:
    (home / "gateway-keys.json").write_text("{}")
    for keys, wanted in ((False, []), (True, ["gateway-keys.json", "keys/local"])):
        told = back_up(home, tmp_path / "b.tar.gz", keys=keys, overwrite=True)
        members = read_manifest(tmp_path / "b.tar.gz").members
        assert [name for name in members if "keys" in name] == wanted
        assert ("files of keys are not in it" in told) is not keys
        assert "no journal: there is none yet" in told


def test_a_file_that_the_settings_name_is_in_it(home: Path, tmp_path: Path) -> None:
    (home / "hamlet.toml").write_text("")
    (home / "assistant.toml").write_text(
        f'{SETTINGS}[assistant]\ncharacter = "sage"\n[world]\nprofile = "hamlet.toml"\n'
    )
    back_up(home, tmp_path / "b.tar.gz")
    assert "hamlet.toml" in read_manifest(tmp_path / "b.tar.gz").members


async def test_a_game_has_its_journal_where_the_installation_puts_it(tmp_path: Path) -> None:
    game = tmp_path / "game"
    (game / "server/conf").mkdir(parents=True)
    (game / "server/conf/assistant.toml").write_text('[model]\nprovider = "ollama"\n')
    (game / "characters").mkdir()
    (game / "characters/mira.toml").write_text('persona = "A baker."\n')
    await lived(game / "server/assistants.sqlite3")
    assert "the game's own database is not in it" in back_up(game, tmp_path / "b.tar.gz")
    restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert sorted(files_in(tmp_path / "new")) == [
        "characters/mira.toml", "server/assistants.sqlite3", "server/conf/assistant.toml",
    ]  # fmt: skip
    assert rows(tmp_path / "new/server/assistants.sqlite3") == [("event-1",)]


async def test_a_journal_elsewhere_is_restored_into_the_folder_and_the_settings_name_it(
    home: Path, tmp_path: Path
) -> None:
    (home / "assistant.toml").write_text(f'{SETTINGS}file = "{tmp_path / "far.journal"}"  # on the other disk\n')
    await lived(tmp_path / "far.journal")
    back_up(home, tmp_path / "b.tar.gz")
    told = restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert 'Its settings named the journal of the original; they have file = "restored.journal" now.' in told
    assert 'file = "restored.journal"' in (tmp_path / "new/assistant.toml").read_text()
    assert rows(tmp_path / "new/restored.journal") == [("event-1",)]


async def test_a_database_is_backed_up_while_it_is_in_use(home: Path, tmp_path: Path, postgres_url: str) -> None:
    (home / "assistant.toml").write_text(f'{SETTINGS}url = "{postgres_url}"\n')
    async with writing(PostgresPlace(postgres_url), "assistant:sage") as journal:
        await record(journal, [said(1)], [says("Hello.")], ANSWERED)
        back_up(home, tmp_path / "b.tar.gz")
        await journal.accept(event(2), TRIGGER)
    told = restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert "mud-assistant journal copy" in told
    assert "url" not in (tmp_path / "new/assistant.toml").read_text().partition("[journal]")[2]
    assert rows(tmp_path / "new/restored.journal") == [("event-1",)]


def test_a_backup_of_a_journal_that_a_process_writes_has_all_that_was_acknowledged(home: Path, tmp_path: Path) -> None:
    child = [sys.executable, "-m", "tests.assistant.journal.sqlite.writing_child", "write"]
    journal = home / "sage.journal"
    with subprocess.Popen([*child, str(journal), "100000"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        there: set[str] = set()
        try:
            for number in range(3):
                acknowledged = [process.stdout.readline().split()[1] for _ in range(40)]
                back_up(home, tmp_path / f"{number}.tar.gz")
                restore(tmp_path / f"{number}.tar.gz", tmp_path / str(number))
                there = {name for (name,) in rows(tmp_path / f"{number}/sage.journal")}
                assert set(acknowledged) <= there
            assert process.poll() is None
        finally:
            process.kill()
    db, state = open_file(journal, SCHEMA, NOON)
    assert db is not None
    db.close()
    assert state == Sound(journal)
    assert there < {name for (name,) in rows(journal)}


def killed_at(number: int, folder: Path, work: Callable[[], object]) -> bool:
    """Do the work in a forked process that is killed at its `number`th touch of a file there; tell whether it was."""
    pid = os.fork()
    if pid:
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    left = number

    def look(happening: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if happening in {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "sqlite3.connect"}:
            left -= str(folder) in str(arguments[0])
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)
    try:
        work()
    finally:
        os._exit(0)


async def test_a_backup_that_is_killed_leaves_the_one_before_or_the_new_one(home: Path, tmp_path: Path) -> None:
    await lived(home / "sage.journal")
    to, before = tmp_path / "b.tar.gz", files_in(home)
    back_up(home, to)
    (home / LAST_BACKUP).unlink()
    number, first = 0, to.read_bytes()
    made: set[bool] = set()
    while killed_at(number := number + 1, tmp_path, lambda: back_up(home, to, overwrite=True)):
        read_members(to, lambda *_: None, print)
        made.add(to.read_bytes() != first)
        (home / LAST_BACKUP).unlink(missing_ok=True)
        assert {name: data for name, data in files_in(home).items() if not name.startswith(".")} == before
    assert number > 20
    assert made in ({False}, {False, True})
    assert names_in(tmp_path) == ["b.tar.gz", "home"]  # the last one cleared it away


async def test_a_restore_that_is_killed_leaves_no_folder_or_the_whole(home: Path, tmp_path: Path) -> None:
    await lived(home / "sage.journal")
    back_up(home, tmp_path / "b.tar.gz")
    to, number, whole = tmp_path / "new", 0, {"assistant.toml", "sage.journal", "characters/sage/character.toml"}
    while killed_at(number := number + 1, tmp_path, lambda: restore(tmp_path / "b.tar.gz", to)):
        if to.exists():
            assert whole < set(files_in(to))
            assert rows(to / "sage.journal") == [("event-1",)]
            shutil.rmtree(to)
    assert number > 10
    assert whole < set(files_in(to))


async def test_a_folder_that_is_not_empty_is_replaced_only_when_that_is_asked_for(home: Path, tmp_path: Path) -> None:
    await lived(home / "sage.journal")
    back_up(home, tmp_path / "b.tar.gz")
    async with writing(home / "sage.journal", "assistant:sage") as journal:
        await journal.accept(event(2), TRIGGER)
        with pytest.raises(CannotBackUp, match="is not empty"):
            restore(tmp_path / "b.tar.gz", home)
    restore(tmp_path / "b.tar.gz", home, overwrite=True)
    assert rows(home / "sage.journal") == [("event-1",)]
    assert (home / "keys/local").read_text() == KEY


async def test_a_journal_that_a_program_writes_is_not_replaced(home: Path, tmp_path: Path) -> None:
    await lived(home / "sage.journal")
    back_up(home, tmp_path / "b.tar.gz")
    child = [sys.executable, "-m", "tests.assistant.journal.sqlite.writing_child", "write"]
    writing_it = [*child, str(home / "sage.journal"), "100000"]
    with subprocess.Popen(writing_it, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:  # noqa: ASYNC220
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(CannotBackUp, match="is in use: stop the program"):
            restore(tmp_path / "b.tar.gz", home, overwrite=True)
        process.kill()


def packed(path: Path, *members: tuple[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


async def test_what_is_no_backup_or_a_damaged_one_is_refused_and_nothing_is_written(home: Path, tmp_path: Path) -> None:
    await lived(home / "sage.journal")
    good = tmp_path / "good.tar.gz"
    back_up(home, good)
    manifest = msgspec.json.decode(gzip.decompress(good.read_bytes())[512:].partition(b"\0")[0])
    outside = {**manifest, "members": {"../x": {"size": 0, "sha256": ""}}}
    newer = {**manifest, "journal": {**manifest["journal"], "tables": SCHEMA.version + 1}}
    first = (MANIFEST, msgspec.json.encode(manifest))
    cases = {
        "not a gzip file": tmp_path / "text",
        "is no backup, or is damaged": tmp_path / "short",
        "is not what was written": packed(tmp_path / "a", first, ("assistant.toml", b"x")),
        "it lacks": packed(tmp_path / "b", first),
        "a file outside its folder": packed(tmp_path / "c", (MANIFEST, msgspec.json.encode(outside)), ("../x", b"")),
        "does not begin with": packed(tmp_path / "d", ("x", b"")),
        "its journal is of version": packed(tmp_path / "e", (MANIFEST, msgspec.json.encode(newer))),
        "newer mud-assistant": packed(tmp_path / "f", (MANIFEST, b'{"format": 2}')),
        "cannot be read: No such file": tmp_path / "nowhere",
    }  # fmt: skip
    (tmp_path / "text").write_text("no backup")
    (tmp_path / "short").write_bytes(good.read_bytes()[:-2000])
    for why, file in cases.items():
        with pytest.raises(CannotBackUp, match=why):
            restore(file, tmp_path / "new")
        assert not (tmp_path / "new").exists()
        assert not (tmp_path / ".new.restoring").exists()


async def test_why_there_is_no_backup_is_said_in_a_sentence(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await lived(home / "sage.journal")

    def refusal(*arguments: str) -> str:
        assert main(["backup", *arguments]) == 2
        return capsys.readouterr().err.strip().removeprefix("mud-assistant: ")

    to = tmp_path / "b.tar.gz"
    assert refusal(str(tmp_path / "nowhere")) == f"there is no folder {tmp_path / 'nowhere'}"
    assert refusal(str(tmp_path)).startswith(f"there is no {tmp_path / 'assistant.toml'}: name the folder")
    assert refusal(str(home), "--to", str(tmp_path / "no/b")).startswith(f"there is no folder {tmp_path / 'no'}")
    with closing(sqlite3.connect(home / "sage.journal")) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
        db.commit()
    assert "a newer mud-assistant" in refusal(str(home), "--to", str(to))
    (home / "sage.journal").write_bytes(b"SQLite format 3\0" + b"\xa5" * 9000)
    assert refusal(str(home), "--to", str(to))
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 2**20))
    assert f"1 MiB are free in {tmp_path}, and the backup needs 17 MiB" in refusal(str(home), "--to", str(to))
    monkeypatch.undo()
    to.write_text("mine")
    assert refusal(str(home), "--to", str(to)).startswith(f"{to} is there already")
    assert to.read_text() == "mine"
    assert names_in(tmp_path) == ["b.tar.gz", "home"]
