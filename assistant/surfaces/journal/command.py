"""Runs the command `mud-assistant journal`: copies a journal, or notes that a backup of it was put back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.config.settings import DEFAULT_FILE, SettingsError, read_settings
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.sqlite.copying import note_restored
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.journal.arguments import OF_SETTINGS
from mud_assistant.assistant.surfaces.journal.copying import CopiedJournal, copy_journal
from mud_assistant.assistant.surfaces.journal.places import NoSuchPlace, PlaceFinder

#: How many bytes are copied between two lines that tell how far it is.
_PROGRESS_BYTES = 32 * 1024 * 1024
_MIB = 1024 * 1024
#: Told once it is noted that a backup was put back.
RESTORED = (
    "It is noted that a backup of {place} was put back; assistants in it: {count}. Whoever runs one takes it anew.\n"
    "What happened since the backup is in the world and not in the journal. See what nobody knows the end of with:\n"
    "  mud-assistant replay {place} --unknown"
)


class JournalOptions(Struct, frozen=True):
    """The options of the command line."""

    action: str
    source: Path | str
    target: Path | str
    password: str = ""
    config: Path | None = None


def run_journal(
    options: JournalOptions,
    environment: Mapping[str, str],
    secrets: Secrets,
    wall: float,
    *,
    tell: Callable[[str], None],
    note: Callable[[str], None],
) -> int:
    """Copy a journal, or note that a backup of it was put back; return the exit status. `note` tells how far it is.

    `wall` is in seconds since 1970. Raises AssistantError. Blocks.
    """
    folder = (options.config or DEFAULT_FILE).absolute().parent
    finder = PlaceFinder(_settings(options), folder, environment, secrets)
    source = _place(options.source, options, finder)
    if options.action == "restored":
        tell(secrets.scrub(RESTORED.format(count=_note_restored(source), place=source)))
        return 0
    target = _place(options.target, options, finder)
    copied = copy_journal(source, target, wall, _Progress(note))
    tell(secrets.scrub(copied_text(source, target, copied)))
    return 0


def copied_text(source: JournalPlace, target: JournalPlace, copied: CopiedJournal) -> str:
    """Return what was copied, table by table, and what to do next."""
    width = max(len(table.name) for table in copied.tables)
    lines = [f"Copied {source} to {target}:"]
    lines += [f"  {table.name:<{width}}  {table.rows:>10,} rows  {table.checksum}" for table in copied.tables]
    lines.append(f"All {sum(table.rows for table in copied.tables):,} rows were read back, and are the same.")
    if copied.changed:
        texts = "1 text" if copied.changed == 1 else f"{copied.changed:,} texts"
        lines.append(f"In {texts} the character NUL, which PostgreSQL cannot store, was replaced by U+FFFD.")
    named = f'url = "{target}"' if isinstance(target, PostgresPlace) else f'file = "{target}"'
    lines.append(f"To use the copy, write {named} into [journal] of the settings, in place of what is there.")
    return "\n".join(lines)


class _Progress:
    """Tells now and then how far a copy is."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._told: tuple[str, int] = ("", 0)

    def __call__(self, table: str, rows: int, size: int) -> None:
        """Tell it when enough was copied since the last time."""
        name, before = self._told
        if table != name:
            self._told = (table, 0)
            before = 0
        if size - before >= _PROGRESS_BYTES:
            self._told = (table, size)
            self._note(f"{table}: {rows:,} rows, {size // _MIB:,} MiB")


def _settings(options: JournalOptions) -> JournalConfig:
    """Return the journal of the settings. Raises SettingsError when they are asked for and cannot be read."""
    try:
        return read_settings(options.config, {}).journal
    except SettingsError:
        if options.config is not None or OF_SETTINGS in {options.source, options.target}:
            raise
        return JournalConfig()


def _place(name: Path | str, options: JournalOptions, finder: PlaceFinder) -> JournalPlace:
    """Return the place of this name. Raises NoSuchPlace."""
    if name != OF_SETTINGS:
        return finder.named(name, "" if isinstance(name, Path) else options.password)
    place = finder.of_settings()
    if place is None:
        raise NoSuchPlace("the settings name no journal: set file or url in [journal], or name a place")
    return place


def _note_restored(place: JournalPlace) -> int:
    """Let nobody go on with what they had of the newer state; return how many assistants it has. Raises CannotRead."""
    return _in_database(place) if isinstance(place, PostgresPlace) else note_restored(place)


def _in_database(place: PostgresPlace) -> int:
    try:
        from mud_assistant.assistant.journal.postgres.restoring import fence_all  # noqa: PLC0415  (needs psycopg)
    except ImportError as error:
        from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (only where it is used)

        raise CannotRead(NO_DRIVER) from error
    return fence_all(place)
