"""Runs the command `mud-assistant replay`: reads what is asked for, prints it, and returns the exit status."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.assistant.characters import CharacterError
from mud_assistant.assistant.config.playing import play
from mud_assistant.assistant.config.schema import Config, JournalConfig
from mud_assistant.assistant.config.settings import SettingsError, read_settings
from mud_assistant.assistant.errors import KeyReferenceError, complaint
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.assistant.loop.speech.screening import scrub_json
from mud_assistant.assistant.models.bound_keys import bindings_of
from mud_assistant.assistant.page.reading import recorded
from mud_assistant.assistant.page.reading.recorded import RecordedRun
from mud_assistant.assistant.page.reading.wording import exact, name_shown, shown
from mud_assistant.assistant.runtime.own_tools import OwnTools, load_tools
from mud_assistant.assistant.surfaces.journal.places import NoSuchPlace, PlaceFinder
from mud_assistant.assistant.surfaces.replay import LAST_RUNS
from mud_assistant.assistant.surfaces.replay.again import Replayer
from mud_assistant.assistant.surfaces.replay.as_json import parked_json, run_json, unknown_json
from mud_assistant.assistant.surfaces.replay.compare import Compared, compared, compared_json, compared_text
from mud_assistant.assistant.surfaces.replay.transcript import parked_text, run_text, unknown_text

#: The exit statuses other than 0.
DIFFERS, UNREADABLE = 1, 2


class ReplayOptions(Struct, frozen=True):
    """The options of the command line."""

    file: Path | str
    assistant: str | None = None
    run: Sequence[str] | None = None
    last: int | None = None
    all: bool = False
    parked: bool = False
    unknown: bool = False
    offline: bool = False
    config: Path | None = None
    json: bool = False
    password: str = ""


class _Found(Struct, frozen=True):
    """What was read from the file: finished lines, or runs; how many runs are left out, and what is damaged."""

    lines: Sequence[str]
    runs: Sequence[RecordedRun]
    left_out: int = 0
    damage: str = ""


def replay(
    wanted: ReplayOptions,
    wall: Callable[[], float],
    secrets: Secrets | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Print what is wanted and return the exit status. The file is closed before anything is printed.

    `wall` gives seconds since 1970. `secrets` learns the keys of the settings from the `environment` and from files, so
    that none is shown.
    """
    secrets = Secrets() if secrets is None else secrets
    try:
        settings, config = _settings(wanted, secrets, environment or {})
        place = _places(wanted, settings, secrets, environment or {}).named(wanted.file, wanted.password)
        with open_for_reading(place, wall()) as journal:
            found = _taken(journal.db, wanted, journal.damage)
        own = OwnTools() if config is None else load_tools(config.tools.modules, _folder(wanted))
        for problem in own.problems:
            print(complaint(secrets.scrub(f"{problem}.")), file=sys.stderr)
        lines, status = _told(found, wanted, config, own)
    except (CannotRead, CharacterError, NoSuchPlace, SettingsError) as error:
        return _unreadable(str(error))
    except (sqlite3.Error, UnicodeError, OSError) as error:
        return _unreadable(f"{wanted.file} cannot be read: {error}")
    for line in lines:
        print(exact(scrub_json(json.loads(line), secrets.scrub)) if wanted.json else secrets.scrub(line))
    sys.stdout.flush()
    lost = sum(run.unreadable for run in found.runs)
    damage = found.damage or (f"{lost} records in it are damaged or of a newer version" if lost else "")
    if damage:
        return _unreadable(f"not all of {wanted.file} can be read: {damage}. It was left as it is")
    return status


def _settings(
    wanted: ReplayOptions, secrets: Secrets, environment: Mapping[str, str]
) -> tuple[Config | None, Config | None]:
    """Return the settings, and those for running again; None when nothing is to be run again. Raises SettingsError.

    Raises CharacterError when the character they name cannot be read.

    `secrets` learns their keys in any case. A keyring is not read, because it may prompt the owner.
    """
    try:
        config = read_settings(wanted.config, {})
    except SettingsError:
        if wanted.offline or wanted.config is not None:
            raise
        return None, None
    folder = _folder(wanted)

    async def at_once(work: Callable[[], str]) -> str:
        return work()

    for binding in bindings_of(config, folder):
        if not binding.reference.startswith("keyring:"):
            learning = Deferred.fromCoroutine(
                resolve_key(binding.reference, KeySources(environment, at_once, folder, secrets))
            )
            learning.addErrback(lambda failure: failure.trap(KeyReferenceError))
    return config, play(config, folder) if wanted.offline else None


def _places(
    wanted: ReplayOptions, settings: Config | None, secrets: Secrets, environment: Mapping[str, str]
) -> PlaceFinder:
    journal = JournalConfig() if settings is None else settings.journal
    return PlaceFinder(journal, _folder(wanted), environment, secrets)


def _folder(wanted: ReplayOptions) -> Path:
    return wanted.config.absolute().parent if wanted.config else Path.cwd()


def _unreadable(sentence: str) -> int:
    print(f"{complaint(shown(sentence).removesuffix('.'))}.", file=sys.stderr)
    return UNREADABLE


def _taken(db: Database, wanted: ReplayOptions, damage: str) -> _Found:
    """Read what is wanted from the file. Raises CannotRead when it is not there."""
    known = recorded.assistants(db)
    called = {recorded.name_of(db, whose).casefold(): whose for whose in known}
    if wanted.assistant is not None and wanted.assistant not in known:
        wanted = replace(wanted, assistant=called.get(wanted.assistant.casefold(), wanted.assistant))
    if wanted.assistant is not None and wanted.assistant not in known:
        there = ", ".join(name_shown(recorded.name_of(db, whose)) for whose in known) or "none at all"
        raise CannotRead(f"there is no assistant '{name_shown(wanted.assistant)}' in {wanted.file}, but: {there}")
    if wanted.parked:
        parked = recorded.parked_events(db, wanted.assistant)
        return _Found([(parked_json if wanted.json else parked_text)(event) for event in parked], (), damage=damage)
    if wanted.unknown:
        unknown = recorded.unknown_calls(db, wanted.assistant)
        return _Found([(unknown_json if wanted.json else unknown_text)(call) for call in unknown], (), damage=damage)
    runs = _runs(db, wanted)
    left_out = 0 if wanted.run else recorded.how_many(db, wanted.assistant) - len(runs)
    return _Found((), runs, left_out, damage)


def _runs(db: Database, wanted: ReplayOptions) -> Sequence[RecordedRun]:
    if not wanted.run:
        return recorded.last_runs(db, wanted.assistant, -1 if wanted.all else wanted.last or LAST_RUNS)
    runs = []
    for run_id in dict.fromkeys(wanted.run):
        run = recorded.run_called(db, wanted.assistant, run_id)
        if run is None:
            raise CannotRead(f"there is no run '{name_shown(run_id)}' in {wanted.file}")
        runs.append(run)
    return runs


def _told(found: _Found, wanted: ReplayOptions, config: Config | None, own: OwnTools) -> tuple[Sequence[str], int]:
    """Return the lines to print, and the exit status they mean."""
    if wanted.parked or wanted.unknown:
        none = "No event is parked." if wanted.parked else "There is no call whose outcome is unknown."
        return _or_none(found.lines, none, wanted), 0
    if config is None:
        lines: Sequence[str] = [(run_json if wanted.json else run_text)(run) for run in found.runs]
        status = 0
    else:
        results = _again(found.runs, config, own)
        lines = [(compared_json if wanted.json else compared_text)(result) for result in results]
        differing = sum(bool(result.differences) for result in results)
        status = DIFFERS if differing else 0
        if results and not wanted.json:
            how = f"{differing} of {len(results)} come out otherwise" if differing else "all as they were"
            lines = [*lines, f"{len(results)} run{'' if len(results) == 1 else 's'} run again: {how}."]
    if found.left_out and not wanted.json:
        lines = [f"({found.left_out} earlier runs are not shown; --all shows every run)", *lines]
    return _or_none(lines, "There is no run in this journal.", wanted), status


def _or_none(lines: Sequence[str], none: str, wanted: ReplayOptions) -> Sequence[str]:
    return lines if lines or wanted.json else [none]


def _again(runs: Sequence[RecordedRun], config: Config, own: OwnTools) -> list[Compared]:
    """Run every run again with the present settings and compare. Later runs of an assistant see its earlier ones."""
    replayers: dict[str, Replayer] = {}
    results = []
    for run in runs:
        if run.assistant not in replayers:
            replayers[run.assistant] = Replayer(config, run.assistant, name=run.name, own=own)
        results.append(compared(run, replayers[run.assistant].again(run)))
    return results
