"""Says where a journal is kept, and in which state it was found there, in sentences for the operator. Pure.

The `path` of a state is the file, or the address of a PostgreSQL database without its password.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.journal.database import Database


def no_password() -> None:
    """Leave the password to libpq and its password file."""


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A PostgreSQL database. `url` holds no password, and may be shown.

    `password` is asked for with each connection, on any thread. None leaves it to libpq and its password file.
    """

    url: str
    password: Callable[[], str | None] = field(default=no_password, repr=False, compare=False)

    def __str__(self) -> str:
        """Return the address, for people."""
        return self.url


#: Where a journal is kept.
JournalPlace = Path | PostgresPlace


class Sound(Struct, frozen=True):
    """The file is whole, or `new`. `copy` is what is kept of it as it was before this version changed its tables."""

    path: Path | str
    new: bool = False
    copy: Path | None = None

    @property
    def sentence(self) -> str:
        """For the operator."""
        if self.copy is not None:
            return (
                f"The journal {self.path} has the tables of this version now. It is kept as it was before as "
                f"{self.copy.name}, for 30 days."
            )
        return f"A new journal was made at {self.path}." if self.new else f"The journal {self.path} is sound."


class Recovered(Struct, frozen=True):
    """The file was damaged. `saved` rows were carried over; what was found is kept at `aside`."""

    path: Path | str
    damage: str
    aside: Path
    saved: int
    #: Stretches of rows that could not be read, of unknown length.
    places: int

    @property
    def sentence(self) -> str:
        """For the operator."""
        lost = f"{self.places} places could not be read" if self.places else "nothing that was found was unreadable"
        return (
            f"The journal {self.path} was damaged ({self.damage}). {self.saved} rows were saved, {lost}. "
            f"The damaged file is kept as {self.aside.name}."
        )


class Incomplete(Struct, frozen=True):
    """The file is sound but lacks promised writes: its log was lost. What was found of the log is at `aside`."""

    path: Path | str
    #: How many transactions are lost.
    missing: int
    aside: Path | None = None

    @property
    def damage(self) -> str:
        """What is wrong, in a few words."""
        writes = "write is" if self.missing == 1 else f"{self.missing} writes are"
        return f"its last {writes} missing, because its write-ahead log is gone or void, or an older copy was put back"

    @property
    def sentence(self) -> str:
        """For the operator."""
        kept = f" The log that was found is kept as {self.aside.name}." if self.aside else ""
        return f"The journal {self.path} is not complete: {self.damage}. It goes on from what is there.{kept}"


class ReadOnly(Struct, frozen=True):
    """The journal cannot be written now. The store tries again by itself."""

    path: Path | str
    cause: str
    #: Whether that ends without anybody changing the settings, as when a database is away: so it is worth waiting for.
    passes: bool = False
    #: Whether this user may not write it.
    is_forbidden: bool = False

    @property
    def sentence(self) -> str:
        """For the operator."""
        return f"The journal {self.path} cannot be written: {self.cause}. Nothing is accepted until it can."


class OpeningRefused(Struct, frozen=True):
    """The file is not ours, or of a newer version than this program. It was not touched."""

    path: Path | str
    cause: str

    @property
    def sentence(self) -> str:
        """For the operator."""
        return f"{self.path} is not used as the journal: {self.cause}. It was left as it is."


class ReadableJournal(Struct, frozen=True):
    """A connection that only reads, and what is damaged: empty when nothing is."""

    db: Database
    damage: str = ""
    #: What the next start does about the damage.
    remedy: str = "the next start repairs it and keeps the damaged file"


Opened = Sound | Recovered | Incomplete | ReadOnly | OpeningRefused


def is_news(opened: Opened | None) -> bool:
    """Tell whether there is more to say than that the journal is sound as it was."""
    return opened is not None and opened != Sound(opened.path)
