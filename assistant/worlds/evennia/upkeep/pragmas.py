"""Checks the SQLite pragmas of the game's own database. Evennia 6 sets them at start and then loses them."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

from assistant.checks.finding import Finding, FindingState

CHECK = "the game's database"
#: `PRAGMA synchronous` from FULL on: every small change of the game waits for the disk.
_FULL = 2
_LEVELS = ("off", "normal", "full", "extra")
#: The line to put at the end of server/conf/settings.py.
CURE = (
    'DATABASES["default"]["OPTIONS"] = '
    '{"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=2"}'
)


def finding() -> Finding:
    """Check whether the pragmas in force suit a game. Asks the connection of the calling thread."""
    if connection.vendor != "sqlite":
        return Finding(CHECK, FindingState.OK, f"it is {connection.vendor}, which has no pragmas to lose")
    return judge(_ask("journal_mode"), int(_ask("synchronous")))


def judge(mode: str, level: int) -> Finding:
    """Make the finding for these pragmas; `level` is SQLite's number for `synchronous`."""
    in_force = f"journal_mode={mode} and synchronous={_LEVELS[level]}"
    if level >= _FULL:
        return Finding(
            CHECK,
            FindingState.WRONG,
            f"{in_force} are in force{_lost()}, so each change of an object holds the whole game up for 5 to 14 ms "
            f"instead of 1; put this line at the end of server/conf/settings.py and restart the game: {CURE}",
        )
    return Finding(CHECK, FindingState.OK, f"{in_force} are in force")


def _lost() -> str:
    """Say what the game's settings ask for instead; empty when they ask for nothing."""
    wanted = [pragma for pragma in settings.SQLITE3_PRAGMAS if "synchronous" in pragma]
    return f" although the game's settings ask for '{wanted[0]}'" if wanted else ""


def _ask(pragma: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {pragma}")
        return str(cursor.fetchone()[0])
