"""Says whether an installation may be upgraded: `mud-assistant doctor --before-upgrade`. Changes nothing. Blocks.

It looks with the program that is installed now: before the new one is installed, or after, before its first start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from mud_assistant.assistant.checks.doctor import SOMETHING_WRONG
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.config.settings import FORMER_NAMES, SettingsError, former_names
from mud_assistant.assistant.errors import AssistantError, KeyReferenceError
from mud_assistant.assistant.journal.errors import CannotRead, cause_of
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.copying import is_open_elsewhere
from mud_assistant.assistant.journal.sqlite.earlier_copy import copy_of, missing_room
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.backup.backup_command import LAST_BACKUP, LastBackup
from mud_assistant.assistant.surfaces.backup.contents import BackupOptions, Contents, find_contents
from mud_assistant.assistant.surfaces.upgrading import to_rewrite

#: A backup that is older, in seconds, is made anew before an upgrade: a week.
OLD_BACKUP_SECONDS = 7 * 86_400.0
_DAY = 86_400.0
#: Where SQLite keeps `PRAGMA user_version` in a file: https://www.sqlite.org/fileformat2.html#user_version_number
_VERSION_AT = 60
_SETTINGS, _TABLES, _RUNS, _ROOM = "settings", "journal tables", "journal runs", "journal copy"
_BACKUP, _GAME, _PROCESSES = "backup", "game files", "processes"


def before_upgrade(
    config: Path | None,
    environment: Mapping[str, str],
    secrets: Secrets,
    wall: float,
    show: Callable[[Finding], None],
) -> int:
    """Show a finding for each check, and return the exit status: 0 when nothing speaks against an upgrade, else 1.

    `wall` is in seconds since 1970.
    """
    is_well = True
    for finding in _findings(config, environment, secrets, wall):
        show(msgspec.structs.replace(finding, sentence=secrets.scrub(finding.sentence)))
        is_well = is_well and finding.state is not FindingState.WRONG
    return 0 if is_well else SOMETHING_WRONG


def _findings(config: Path | None, environment: Mapping[str, str], secrets: Secrets, wall: float) -> Iterator[Finding]:
    try:
        contents = find_contents(BackupOptions(None, Path(), config), environment, secrets)
    except AssistantError as error:
        yield _wrong(_SETTINGS, str(error))
        return
    yield _settings(contents)
    if isinstance(contents.journal, PostgresPlace):
        yield from _database(contents.journal)
    elif contents.journal is not None and contents.journal.exists():
        yield from _file(contents.journal, wall)
    else:
        yield _ok(_TABLES, "there is no journal yet, so there is nothing to change")
    yield _backup(contents, wall)
    if (contents.base / "server/conf").is_dir():
        yield _game(contents.base)


def _settings(contents: Contents) -> Finding:
    """Say which settings have former names. They are understood."""
    if not contents.settings:
        return _ok(_SETTINGS, "there is no file of them, so the defaults are used")
    try:
        names = former_names(contents.base / contents.settings)
    except SettingsError as error:
        return _wrong(_SETTINGS, str(error))
    if not names:
        return _ok(_SETTINGS, f"{contents.settings} is valid, and names each setting as it is called now")
    now = ", ".join(f"{name} is {FORMER_NAMES[name]}" for name in names)
    return _ok(_SETTINGS, f"{contents.settings} is valid; under former names, which are understood: {now}")


def _file(path: Path, wall: float) -> Iterator[Finding]:
    if is_open_elsewhere(path):
        yield _wrong(_PROCESSES, f"{path} is in use: stop the program that writes it before the new one is installed")
    try:
        with open_for_reading(path, wall) as found:
            if found.damage:
                yield _wrong(_TABLES, f"{path}: {found.damage}; start this version once: {found.remedy}")
                return
            yield _tables(_version_in(path), path)
            yield _runs(found.db.execute("SELECT count(*) FROM runs WHERE closed_at IS NULL").fetchone()[0])
    except CannotRead as error:
        yield _wrong(_TABLES, str(error))
        return
    except (sqlite3.Error, OSError) as error:
        why = cause_of(error) if isinstance(error, sqlite3.Error) else error.strerror
        yield _wrong(_TABLES, f"{path} cannot be read: {why}")
        return
    if why := missing_room(path):
        yield _wrong(_ROOM, why)
    else:
        yield _ok(_ROOM, f"there is room for the copy that is kept when a version changes the tables of {path.name}")


def _version_in(path: Path) -> int:
    """Return the version in the file's own header: what is read of a killed program's file is a newer copy."""
    with path.open("rb") as file:
        head = file.read(_VERSION_AT + 4)
    return int.from_bytes(head[_VERSION_AT:], "big")


def _tables(version: int, path: Path) -> Finding:
    if version == SCHEMA.version:
        return _ok(_TABLES, f"{path} has the tables of this version ({version})")
    return _ok(
        _TABLES,
        f"{path} has tables of version {version}; the first start brings them to {SCHEMA.version}, and keeps the file "
        f"as it is as {copy_of(path, SCHEMA.version).name}",
    )


def _runs(count: int) -> Finding:
    if not count:
        return _ok(_RUNS, "no run is open")
    runs = "1 run is open" if count == 1 else f"{count} runs are open"
    return _ok(_RUNS, f"{runs}: the next start goes on with what was begun")


def _database(place: PostgresPlace) -> Iterator[Finding]:
    """Judge tables of any version in a database."""
    try:
        from mud_assistant.assistant.journal.postgres import facts
        from mud_assistant.assistant.journal.postgres.opening import CannotUse
        from mud_assistant.assistant.journal.postgres.refusals import newer_tables
        from mud_assistant.assistant.journal.postgres.schema import STEPS
    except ImportError:
        from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER

        yield _wrong(_TABLES, NO_DRIVER)
        return
    try:
        found = facts.look_at_tables(place.url, place.password())
    except (CannotUse, KeyReferenceError) as error:
        yield _wrong(_TABLES, f"{place} cannot be used: {error}")
        return
    if found.version > len(STEPS):
        yield _wrong(_TABLES, f"{place} cannot be used: {newer_tables(found.version, len(STEPS))}")
        return
    yield _ok(_TABLES, _tables_text(found.version, len(STEPS)))
    yield _runs(found.open_runs)
    at_work = f"at work: {', '.join(found.processes)}; upgrade and start them one after the other"
    yield _ok(_PROCESSES, at_work if found.processes else "none is at work")


def _tables_text(version: int, latest: int) -> str:
    if not version:
        return "there are none yet, so there is nothing to change"
    if version == latest:
        return f"they are those of this version ({version})"
    return (
        f"they are of version {version}; the first process of this version brings them to {latest}, and those of the "
        "version before go on; going back after that means restoring a dump"
    )


def _backup(contents: Contents, wall: float) -> Finding:
    """Say how old the last backup is. One of a database may have been made by PostgreSQL's own programs."""
    how = f"mud-assistant backup {contents.base}"
    try:
        last = msgspec.json.decode((contents.base / LAST_BACKUP).read_bytes(), type=LastBackup)
    except (OSError, msgspec.MsgspecError):
        if isinstance(contents.journal, PostgresPlace):
            return Finding(
                _BACKUP, FindingState.UNKNOWN, f"none by {how}; pg_dump may have made one (docs/scale-out.md)"
            )
        return _wrong(_BACKUP, f"none was made here: {how}")
    days = int(max(0.0, wall - last.made_at) // _DAY)
    age = "less than a day" if not days else "1 day" if days == 1 else f"{days} days"
    if wall - last.made_at > OLD_BACKUP_SECONDS:
        return _wrong(_BACKUP, f"the last one is {age} old: {how}")
    if not Path(last.file).exists():
        return _ok(_BACKUP, f"the last one is {age} old; {last.file} is not there any more: know where it is")
    return _ok(_BACKUP, f"{last.file} is {age} old")


def _game(folder: Path) -> Finding:
    if not (names := [str(path.relative_to(folder)) for path, *_ in to_rewrite(folder)]):
        return _ok(_GAME, "they name our modules as this version does")
    return _wrong(_GAME, f"{', '.join(names)}: our modules are called as before there: mud-assistant upgrade {folder}")


def _ok(check: str, sentence: str) -> Finding:
    return Finding(check, FindingState.OK, sentence)


def _wrong(check: str, sentence: str) -> Finding:
    return Finding(check, FindingState.WRONG, sentence)
