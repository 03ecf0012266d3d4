"""The command `mud-assistant journal copy`: what it says and teaches, and whose password it takes from where."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.utils import getProcessOutputAndValue

from mud_assistant.assistant.__main__ import main
from mud_assistant.assistant.command_line import parser
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal import Fenced, StoredJournal
from mud_assistant.assistant.journal.files import GAP
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.journal.command import JournalOptions, run_journal
from mud_assistant.assistant.surfaces.journal.places import NoSuchPlace, PlaceFinder
from tests.assistant.journal.keeping import TRIGGER, opened_file
from tests.assistant.journal.postgres.outage import opened
from tests.assistant.surfaces.replay.recording import ANSWERED, NOON, name_of, record, said, says, writing

ROOT = Path(__file__).parents[4]
URL = "postgresql://mud@db.example/mud"
PASSWORD = "sesame-0123456789"


def finder(folder: Path, url: str = "", password: str = "") -> PlaceFinder:
    return PlaceFinder(JournalConfig(url=url, password=password), folder, {"PASSWORD": PASSWORD}, Secrets())


async def lived(place: JournalPlace) -> None:
    async with writing(place, "assistant:1") as journal:
        await record(journal, [said(1)], [says("Hello.")], ANSWERED)


async def test_it_says_what_was_copied_and_what_to_write_into_the_settings(
    tmp_path: Path, journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    await lived(source)
    assert main(["journal", "copy", str(source), str(name_of(journal_place))]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"Copied {source} to {journal_place}:\n")
    assert re.search(r"\n  runs +1 rows  ", told.out)
    assert "rows were read back, and are the same." in told.out
    setting = "url" if isinstance(journal_place, PostgresPlace) else "file"
    assert f'write {setting} = "{journal_place}" into [journal]' in told.out
    assert told.err == ""
    assert main(["replay", str(name_of(journal_place))]) == 0
    assert "Sage, hello?" in capsys.readouterr().out
    assert main(["journal", "copy", str(source), str(name_of(journal_place))]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"mud-assistant: {journal_place} is ")
    assert told.err.count("\n") == 1


async def test_the_word_settings_stands_for_the_journal_of_the_settings(tmp_path: Path) -> None:
    await lived(tmp_path / "mine.journal")
    settings = tmp_path / "assistant.toml"
    settings.write_text('[journal]\nfile = "mine.journal"\n')
    told: list[str] = []
    options = JournalOptions("copy", "settings", tmp_path / "copy", config=settings)
    assert run_journal(options, {}, Secrets(), NOON, tell=told.append, note=told.append) == 0
    assert told[0].startswith(f"Copied {tmp_path / 'mine.journal'} to {tmp_path / 'copy'}:")
    settings.write_text("")
    with pytest.raises(NoSuchPlace, match="the settings name no journal"):
        run_journal(options, {}, Secrets(), NOON, tell=told.append, note=told.append)


def test_a_password_comes_from_the_reference_or_for_the_same_address_from_the_settings(tmp_path: Path) -> None:
    def password(place: JournalPlace) -> str | None:
        assert isinstance(place, PostgresPlace)
        return place.password()

    (tmp_path / "secret").write_text(PASSWORD)
    (tmp_path / "secret").chmod(0o600)
    assert password(finder(tmp_path).named(URL)) is None
    assert password(finder(tmp_path).named(URL, "env:PASSWORD")) == PASSWORD
    assert password(finder(tmp_path).named(URL, "file:secret")) == PASSWORD
    there = finder(tmp_path, url=URL, password="env:PASSWORD")
    assert password(there.named(URL)) == PASSWORD
    assert password(there.named(f"{URL}2")) is None
    of_settings = there.of_settings()
    assert of_settings is not None
    assert password(of_settings) == PASSWORD
    assert there.secrets.scrub(f"it is {PASSWORD}") == "it is [key]"
    with pytest.raises(KeyReferenceError, match="MISSING"):
        password(finder(tmp_path).named(URL, "env:MISSING"))


def test_a_password_is_neither_taken_nor_shown_where_it_may_be_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for url in (f"postgresql://mud:{PASSWORD}@db.example/mud", f"{URL}?password={PASSWORD}"):
        for command in (["journal", "copy", url, str(tmp_path / "j")], ["replay", url]):
            assert main(command) == 2
            told = capsys.readouterr()
            assert "a password is never written into the url" in told.err
            assert PASSWORD not in told.out + told.err
    place = finder(tmp_path).named(URL, "env:PASSWORD")
    assert PASSWORD not in repr(place) + str(place)
    with pytest.raises(NoSuchPlace, match="is a file"):
        finder(tmp_path).named(tmp_path / "j", "env:PASSWORD")


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["journal", "--help"], ["journal", "copy", "--help"], ["--help"]):
        with pytest.raises(SystemExit):
            parser().parse_args(command)
        assert "mud-assistant journal copy settings backup.journal" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        parser().parse_args(["journal", "copy", "one"])
    assert "usage: mud-assistant journal copy" in capsys.readouterr().err


async def test_that_a_backup_was_put_back_is_noted_and_nobody_goes_on_with_what_they_had(
    journal_place: JournalPlace, reactor: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    await lived(journal_place)
    name = str(name_of(journal_place))
    if isinstance(journal_place, PostgresPlace):  # also while a process runs
        async with opened(journal_place.url, reactor) as store:
            journal = StoredJournal(store, "assistant:1")
            before = await journal.start()
            assert main(["journal", "restored", name]) == 0
            with pytest.raises(Fenced) as fenced:
                await journal.accept(said(2), TRIGGER)
            assert fenced.value.current > before + 1000
            assert await store.write(store.leases.renew) == {"assistant:1"}
    else:
        async with opened_file(journal_place, reactor):
            pass
        with closing(sqlite3.connect(journal_place)) as db:
            numbers = dict(db.execute("SELECT name, seq FROM sqlite_sequence"))
        assert main(["journal", "restored", name]) == 0
        with closing(sqlite3.connect(journal_place)) as db:
            assert dict(db.execute("SELECT name, seq FROM sqlite_sequence"))["runs"] == numbers["runs"] + GAP
    told = capsys.readouterr()
    assert told.out.startswith(f"It is noted that a backup of {journal_place} was put back; assistants in it: 1.")
    async with writing(journal_place, "assistant:1") as journal:
        assert await journal.start() > 1000


async def test_a_backup_is_not_put_back_under_a_program_that_has_the_file(
    tmp_path: Path, reactor: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["-m", "mud_assistant", "journal", "restored", "j"]
    async with opened_file(tmp_path / "j", reactor):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        _, err, status = await getProcessOutputAndValue(sys.executable, command, environment, str(tmp_path), reactor)
    assert (status, b"is in use: stop the program" in err) == (2, True)
    assert main(["journal", "restored", str(tmp_path / "none")]) == 2
    (tmp_path / "text").write_text("words, and no journal")
    assert main(["journal", "restored", str(tmp_path / "text")]) == 2
    assert capsys.readouterr().err.count("mud-assistant: ") == 2
