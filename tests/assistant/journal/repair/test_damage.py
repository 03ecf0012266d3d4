"""Damaged files, by the dozen: each starts in a stated way, and loses only what the damage took."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal.errors import BrokenRecord
from mud_assistant.assistant.journal.files import PAGE_BYTES
from mud_assistant.assistant.journal.place import Opened, OpeningRefused, ReadOnly, Recovered, Sound
from mud_assistant.assistant.journal.protocol import Accepted, StreamChange, StreamEntry
from mud_assistant.assistant.journal.records import CALL, EVENT, EXECUTED, RESPONSE
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.assistant.journal.tables import inbox, memories, promised_goals, runs, stream
from mud_assistant.assistant.journal.tables.runs import RunPlace
from mud_assistant.assistant.journal.tables.sleep_state import save_sleep
from mud_assistant.llm import user
from tests.assistant.journal.keeping import ANNA, NOON, SAY, TRIGGER, event, executed, fact, response

EVENTS = 400
#: The last events are in the write-ahead log only, in files that were not closed.
IN_LOG = 60


def text(number: int) -> str:
    return f"words {number} " * (900 if number % 50 == 7 else 5)


def fill(db: sqlite3.Connection, first: int, last: int) -> None:
    for number in range(first, last):
        db.execute("BEGIN IMMEDIATE")
        accepted = Accepted(event(number, text(number)), TRIGGER)
        inbox.take(db, "sage", accepted, EVENT.encode(accepted.event), limit=10**6, now=NOON)
        if number % 20 == 0:
            run = runs.open_run(db, "sage", 1, [f"event-{number}"], NOON)
            runs.record_response(db, RunPlace("sage", run, 1), RESPONSE.encode(response(SAY)))
            runs.record_intent(db, RunPlace("sage", run, 1), CALL.encode(SAY), NOON, effect=True)
            if number % 40 == 0:
                runs.record_result(db, RunPlace("sage", run, 1), EXECUTED.encode(executed(SAY)))
                runs.close_run(db, "sage", run, NothingToDo(), NOON)
            remember(db, number)
        db.execute("COMMIT")


def remember(db: sqlite3.Connection, number: int) -> None:
    """A row in each table that is not of runs."""
    entry = StreamEntry((user(text(number)),), 3, (f"event-{number}",), 2, ("7", str(number)))
    stream.apply(db, "sage", stream.rows_of(StreamChange((entry,))), ())
    memories.keep(db, "sage", fact(f"memory {number}", ANNA, expires=NOON + number if number % 40 else None))
    save_sleep(db, f"sage {number}", {"night": number})
    db.execute("INSERT INTO muted VALUES (?, ?, ?, ?)", ("sage", str(number), "Ben", NOON))
    db.execute("INSERT INTO key_bindings VALUES (?, ?, ?)", ("KEY", f"https://{number}.example", NOON))
    known = (str(number), "kin", "dog=", "", "Ben", "said", text(number)[:40], "e", "m", NOON, 1, 0.0, 0.0, b"\x00")
    db.execute(f"INSERT INTO acquaintance_facts VALUES ('sage', {', '.join('?' * 14)})", known)  # noqa: S608
    db.execute("INSERT INTO acquaintances VALUES ('sage', ?, 'ben', 'Ben', 1.5, 2.5, 0.0, 3, 0.0)", (str(number),))
    db.execute("INSERT INTO usage VALUES (?, ?, ?, ?, ?)", (number, "all", 1, 2, 0.5))
    goal = Goal(f"g{number}", GoalKind.REMIND, text(number)[:40], ANNA, NOON)
    promised_goals.save(db, "sage", [goal if number % 40 else replace(goal, state=GoalState.DONE)], NOON)


@dataclass(frozen=True)
class Sample:
    """A journal that was closed, and one whose process was killed: the file and its log."""

    closed: bytes
    file: bytes
    log: bytes

    def page_of(self) -> dict[str, int]:
        """The page of the closed file that each short event lies in."""
        return {
            match[1].decode(): match.start() // PAGE_BYTES
            for match in re.finditer(rb'"id":"(event-\d+)"', self.closed)
            if int(match[1][6:]) % 50 != 7
        }


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    path = tmp_path_factory.mktemp("sample") / "j"
    db, _ = open_file(path, SCHEMA, NOON)
    assert db is not None
    fill(db, 0, EVENTS - IN_LOG)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    fill(db, EVENTS - IN_LOG, EVENTS)
    file, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    db.close()
    return Sample(path.read_bytes(), file, log)


def garbled(data: bytes, *spans: tuple[int, int]) -> bytes:
    """The data with these spans overwritten by noise."""
    noise, changed = random.Random(str(spans)), bytearray(data)  # noqa: S311
    for start, end in spans:
        changed[start:end] = noise.randbytes(min(end, len(data)) - start)
    return bytes(changed)


def found_events(db: sqlite3.Connection) -> set[str]:
    """The ids of the events that can be read; every one of them must be what was written."""
    ids = set()
    for event_id, payload in db.execute("SELECT id, payload FROM events"):
        try:
            read = EVENT.decode(payload)
        except BrokenRecord:
            continue
        number = int(read.id.removeprefix("event-"))
        assert read == event(number, text(number))
        assert read.id == event_id
        ids.add(event_id)
    return ids


def start(path: Path) -> tuple[Opened, set[str]]:
    """How the file starts, twice: the second start finds it sound, if it may be used. And the events it has."""
    db, state = open_file(path, SCHEMA, NOON)
    assert state.sentence.endswith(".")
    assert path.name in state.sentence
    if db is None:
        return state, set()
    with closing(db):
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        inbox.pending(db, "sage")
        runs.interrupted(db, "sage", 2)
        runs.unknown_effects(db, "sage")
        found = found_events(db)
    again, second = open_file(path, SCHEMA, NOON)
    assert again is not None
    assert second == Sound(path)
    assert found_events(again) == found
    again.close()
    leftovers = {file.name for file in path.parent.iterdir()} - {path.name}
    assert all(".damaged-" in name for name in leftovers), leftovers
    return state, found


LENGTHS: list[int | float] = [
    *(1, 15, 16, 50, 99, 100, 101, 512, 1024, 4095, 4096, 4097, 8191, 8192, 10_000, 20_000),
    *(0.1, 0.25, 0.5, 0.75, 0.9, 0.99, -4096, -4095, -100, -1),
]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_file_that_was_cut_off(tmp_path: Path, sample: Sample, length: float) -> None:
    whole = len(sample.closed)
    left = int(whole * length) if 0 < length < 1 else int(length) % whole
    (tmp_path / "j").write_bytes(sample.closed[:left])
    state, found = start(tmp_path / "j")
    assert isinstance(state, Recovered)
    assert (tmp_path / state.aside.name).read_bytes() == sample.closed[:left]
    whole_pages = left // PAGE_BYTES
    assert found >= {name for name, page in sample.page_of().items() if page < whole_pages}


PAGES: list[tuple[int, ...]] = [
    (0,),
    (1,),
    (0, 1, 2),
    (2, 3),
    (4,),
    (5,),
    (6,),
    (9,),
    (12,),
    (20,),
    (21, 22, 23),
    (30, 40),
]


@pytest.mark.parametrize("pages", PAGES, ids=str)
def test_garbled_pages(tmp_path: Path, sample: Sample, pages: tuple[int, ...]) -> None:
    spans = [(page * PAGE_BYTES, (page + 1) * PAGE_BYTES) for page in pages]
    (tmp_path / "j").write_bytes(garbled(sample.closed, *spans))
    state, found = start(tmp_path / "j")
    assert isinstance(state, Recovered)
    assert found >= {name for name, page in sample.page_of().items() if page not in pages}


@pytest.mark.parametrize("every", range(0, 60, 4))
def test_a_page_of_zeros(tmp_path: Path, sample: Sample, every: int) -> None:
    start_at = every * PAGE_BYTES
    data = bytearray(sample.closed)
    if start_at >= len(data):
        pytest.skip("the sample is shorter")
    data[start_at : start_at + PAGE_BYTES] = bytes(PAGE_BYTES)
    (tmp_path / "j").write_bytes(data)
    state, found = start(tmp_path / "j")
    assert isinstance(state, Recovered | Sound)
    assert found >= {name for name, page in sample.page_of().items() if page != every}


@pytest.mark.parametrize("seed", range(20))
def test_scattered_bytes(tmp_path: Path, sample: Sample, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    hit = [chance.randrange(len(sample.closed)) for _ in range(4)]
    (tmp_path / "j").write_bytes(garbled(sample.closed, *((at, at + 3) for at in hit)))
    state, found = start(tmp_path / "j")
    assert isinstance(state, Recovered | Sound)
    pages = {page for at in hit for page in (at // PAGE_BYTES, (at + 2) // PAGE_BYTES)}
    assert found >= {name for name, page in sample.page_of().items() if page not in pages}


def lay(path: Path, file: bytes, log: bytes) -> Path:
    path.write_bytes(file)
    Path(f"{path}-wal").write_bytes(log)
    return path


def test_a_killed_process_leaves_a_sound_journal(tmp_path: Path, sample: Sample) -> None:
    state, found = start(lay(tmp_path / "j", sample.file, sample.log))
    assert state == Sound(tmp_path / "j")
    assert len(found) == EVENTS


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.1, 0.3, 0.5, 0.8, 0.95, 0.999])
def test_a_log_that_was_cut_off_loses_its_end_only(tmp_path: Path, sample: Sample, share: float) -> None:
    state, found = start(lay(tmp_path / "j", sample.file, sample.log[: int(len(sample.log) * share)]))
    assert state == Sound(tmp_path / "j")  # nobody can tell it from the torn end that a kill leaves
    assert found >= {f"event-{number}" for number in range(EVENTS - IN_LOG)}
    assert found == {f"event-{number}" for number in range(len(found))}


FRAME = 24 + PAGE_BYTES


@pytest.mark.parametrize(("frame", "at"), [(0, 24), (0, 2000), (5, 100), (20, 4000), (50, 0), (90, 1000)])
def test_a_log_with_a_garbled_page_is_told_of_and_keeps_what_lies_behind_it(
    tmp_path: Path, sample: Sample, frame: int, at: int
) -> None:
    offset = 32 + frame * FRAME + at
    log = garbled(sample.log, (offset, offset + 30))
    state, found = start(lay(tmp_path / "j", sample.file, log))
    assert isinstance(state, Recovered)
    assert "garbled" in state.damage
    assert Path(f"{state.aside}-wal").read_bytes() == log
    assert f"event-{EVENTS - 1}" in found
    assert found >= {f"event-{number}" for number in range(EVENTS - IN_LOG - 10)}
    assert len(found) > EVENTS - 15


@pytest.mark.parametrize("log", [b"", b"\0" * 50_000, b"Dear diary", b"noise"], ids=["empty", "zeros", "text", "noise"])
def test_a_log_that_is_none_costs_what_was_in_it(tmp_path: Path, sample: Sample, log: bytes) -> None:
    log = garbled(sample.log, (0, len(sample.log))) if log == b"noise" else log
    state, found = start(lay(tmp_path / "j", sample.file, log))
    assert isinstance(state, Sound)
    assert len(found) == EVENTS - IN_LOG


def test_a_log_without_its_file_is_kept_and_told_of(tmp_path: Path, sample: Sample) -> None:
    Path(tmp_path / "j-wal").write_bytes(sample.log)
    state, _ = start(tmp_path / "j")
    assert isinstance(state, Recovered)
    assert state.aside.read_bytes() == sample.log


@pytest.mark.parametrize("log", [False, True])
def test_an_empty_file_is_no_new_one(tmp_path: Path, sample: Sample, *, log: bool) -> None:
    lay(tmp_path / "j", b"", sample.log if log else b"")
    state, found = start(tmp_path / "j")
    assert isinstance(state, Recovered)
    assert "empty" in state.sentence
    assert bool(found) == log


def _text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 1000)


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(100_000))  # noqa: S311


def _other(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE accounts (name TEXT)")


def _newer(path: Path) -> None:
    db, _ = open_file(path, SCHEMA, NOON)
    assert db is not None
    db.execute("PRAGMA user_version = 9")
    db.close()


@pytest.mark.parametrize("make", [Path.mkdir, _text, _noise, _other, _newer])
def test_what_is_not_ours_is_refused_and_left_alone(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "j"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    state, _ = start(path)
    assert isinstance(state, OpeningRefused)
    assert state.sentence.endswith("It was left as it is.")
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert [file.name for file in tmp_path.iterdir()] == ["j"]


def test_a_missing_table_is_damage(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / "j").write_bytes(sample.closed)
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        db.execute("DROP TABLE memories")
    state, found = start(tmp_path / "j")
    assert isinstance(state, Recovered)
    assert "memories" in state.damage
    assert len(found) == EVENTS


#: Every table but those that a start and a repair write themselves; a lost row of `runs` is made up.
ALL = (
    "events",
    "run_events",
    "responses",
    "intents",
    "results",
    "stream",
    "memories",
    "memory_state",
    "acquaintances",
    "acquaintance_facts",
    "goals",
    "muted",
    "key_bindings",
    "usage",
)


def all_rows(path: Path) -> dict[str, set[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        return {table: set(db.execute(f"SELECT * FROM {table}")) for table in ALL}  # noqa: S608


def test_without_its_first_page_every_row_of_every_table_is_found(tmp_path: Path, sample: Sample) -> None:
    """Nothing but the types of its values tells then what a row is of."""
    (tmp_path / "j").write_bytes(sample.closed)
    before = all_rows(tmp_path / "j")
    assert all(len(rows) >= EVENTS // 40 for rows in before.values())
    (tmp_path / "j").write_bytes(garbled(sample.closed, (0, 2 * PAGE_BYTES)))
    start(tmp_path / "j")
    assert all_rows(tmp_path / "j") == before
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        assert {key for (key,) in db.execute("SELECT key FROM meta")} <= {"what", "opened", "salvage"}
        assert db.execute("SELECT count(*) FROM leases").fetchone() == (0,)


@pytest.mark.parametrize("version", range(1, SCHEMA.version + 1))
def test_no_two_tables_hold_values_of_the_same_types(version: int) -> None:
    """A row that is found without its table would go into both."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        SCHEMA.upto(version).migrate(db)
        kinds = []
        for table in SCHEMA.upto(version).tables():
            columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            keys = [column for column in columns if column[5]]
            number = keys[0][1] if len(keys) == 1 and keys[0][2] == "INTEGER" else ""
            kind = tuple("NUMBER" if column[1] == number else column[2] for column in columns)
            added = [column for column in columns if column[4] is not None]
            kinds += [kind[: len(kind) - short] for short in range(len(added) + 1)]
        assert len(set(kinds)) == len(kinds)


def test_a_garbled_column_that_says_who_is_mended_from_the_record(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / "j").write_bytes(sample.closed)
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        db.execute("UPDATE events SET who = '8' WHERE seq % 3 = 0")
        db.execute("DROP TABLE muted")
        db.commit()
    start(tmp_path / "j")
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        assert db.execute("SELECT DISTINCT who FROM events").fetchall() == [("7",)]


def test_what_was_dealt_with_stays_so_and_runs_keep_their_steps(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / "j").write_bytes(garbled(sample.closed, (0, 2 * PAGE_BYTES)))
    start(tmp_path / "j")
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        done = db.execute("SELECT id FROM events WHERE state = 'done'").fetchall()
        assert {name for (name,) in done} == {f"event-{number}" for number in range(0, EVENTS, 40)}
        left = runs.interrupted(db, "sage", 99)
        assert left is not None
        assert left.steps[0].response == response(SAY)
        ((highest,),) = db.execute("SELECT max(seq) FROM runs").fetchall()
        assert runs.open_run(db, "sage", 2, [], NOON) != f"run-{highest + 1}"  # no number is used twice


@pytest.mark.parametrize("step", ["linked", "log gone"])
def test_a_repair_that_was_killed_is_finished(tmp_path: Path, sample: Sample, step: str) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "j").write_bytes(garbled(sample.closed, (8 * PAGE_BYTES, 9 * PAGE_BYTES)))
    db, state = open_file(whole / "j", SCHEMA, NOON)
    assert isinstance(state, Recovered)
    assert db is not None
    saved = found_events(db)
    db.close()
    path = lay(tmp_path / "j", b"the damaged file", sample.log)
    (whole / "j").rename(tmp_path / "j.salvaged")
    shutil.rmtree(whole)
    os.link(path, tmp_path / "j.damaged-1")
    if step == "log gone":
        Path(f"{path}-wal").unlink()
    state, found = start(path)
    assert isinstance(state, Recovered)
    assert state.aside == tmp_path / "j.damaged-1"
    assert state.aside.read_bytes() == b"the damaged file"
    assert found == saved


def test_each_damaged_file_is_kept_under_a_name_of_its_own(tmp_path: Path, sample: Sample) -> None:
    for count in (1, 2, 3):
        (tmp_path / "j").write_bytes(sample.closed[: -count * PAGE_BYTES])
        state, _ = start(tmp_path / "j")
        assert isinstance(state, Recovered)
        assert state.aside.name == f"j.damaged-{count}"


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that any user can enter; the tests may run as root, whom no permission stops."""
    folder = Path(tempfile.mkdtemp(prefix="journal"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_file_that_may_not_be_written_can_be_read(public: Path, sample: Sample) -> None:
    (public / "j").write_bytes(sample.closed)
    (public / "j").chmod(0o444)
    public.chmod(0o555)
    user = os.geteuid()
    if not user:
        os.seteuid(65_534)
    try:
        db, state = open_file(public / "j", SCHEMA, NOON)
        assert isinstance(state, ReadOnly)
        assert "cannot be written" in state.sentence
        assert db is not None
        with closing(db):
            assert len(found_events(db)) == EVENTS
    finally:
        os.seteuid(user)


def test_a_folder_that_may_not_be_written_is_told_of(public: Path) -> None:
    public.chmod(0o555)
    user = os.geteuid()
    if not user:
        os.seteuid(65_534)
    try:
        db, state = open_file(public / "j", SCHEMA, NOON)
        assert db is None
        assert state == ReadOnly(public / "j", "Permission denied")
    finally:
        os.seteuid(user)


def test_a_repair_without_room_changes_nothing_and_is_told_of(tmp_path: Path, sample: Sample) -> None:
    path = tmp_path / "j"
    damaged = garbled(sample.closed, (9 * PAGE_BYTES, 10 * PAGE_BYTES))
    path.write_bytes(damaged)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(damaged) // 2, hard))
    try:
        db, state = open_file(path, SCHEMA, NOON)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(state, ReadOnly)
    assert "damaged" in state.cause
    assert "could not be repaired" in state.cause
    if db is not None:
        db.close()
    assert path.read_bytes() == damaged
    assert isinstance(start(path)[0], Recovered)
