"""Finds the players whose words the journal holds, and counts what it holds of one. SQL only.

The index `events_who` lists them by assistant. Events that the first version wrote are not in it, and not found.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from mud_assistant.assistant.journal.codec import parse_json, unseal
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import BrokenRecord
from mud_assistant.assistant.journal.tables import memories

#: How many pairs of an assistant and a player are looked at, how many names are read, and how many rows are counted.
PAIRS, NAMES, COUNTED = 3000, 1500, 10_000

#: The ids of an assistant and of a player whom it heard.
Pair = tuple[str, str]


class PlayerFacts(Struct, frozen=True):
    """How much is kept of a player, and the name they had last; empty when the journal does not know it.

    `runs` ends at COUNTED.
    """

    id: str
    name: str
    runs: int
    memories: int


class FoundPlayers(Struct, frozen=True):
    """Who was found. `is_partial` when there were too many to look at all."""

    pairs: frozenset[Pair]
    is_partial: bool = False


def find_players(db: Database, wanted: str, assistant: str = "") -> FoundPlayers:
    """Find the players with this id or, if there is none, with these letters in the name they had last."""
    exact = frozenset(pair for pair in _pairs_of(db, wanted) if not assistant or pair[0] == assistant)
    if exact:
        return FoundPlayers(exact)
    letters, names = wanted.casefold(), dict[str, str]()
    found: list[Pair] = []
    for looked_at, (whose, who, record) in enumerate(_last_events(db, assistant)):
        if looked_at == PAIRS or (who not in names and len(names) == NAMES):
            return FoundPlayers(frozenset(found), is_partial=True)
        if who not in names:
            names[who] = _name_in(record).casefold()
        if letters in names[who]:
            found.append((whose, who))
    return FoundPlayers(frozenset(found))


def player_facts(db: Database, player: str) -> PlayerFacts:
    """Count what is kept of the player with this id. Raises what the database does."""
    runs, name = 0, ""
    for whose, who in _pairs_of(db, player):
        last = "SELECT payload FROM events WHERE assistant = ? AND who = ? ORDER BY seq DESC LIMIT 1"
        name = name or _name_in(db.execute(last, (whose, who)).fetchone()[0])
        left = COUNTED - runs
        runs += db.execute(
            """SELECT count(*) FROM (SELECT DISTINCT run FROM events JOIN run_events ON event = events.seq
               WHERE events.assistant = ? AND who = ? LIMIT ?) AS found""",
            (whose, who, left),
        ).fetchone()[0]
    assistants = [row[0] for row in db.execute("SELECT DISTINCT assistant FROM memories")]
    kept = sum(len(memories.about(db, whose, player)) for whose in assistants)
    return PlayerFacts(player, name, runs, kept)


def _pairs_of(db: Database, who: str) -> Iterator[Pair]:
    """Yield the pairs of this player with each assistant that heard them, by one search of the index each."""
    whose = ""
    after = "SELECT assistant FROM events WHERE assistant > ? ORDER BY assistant LIMIT 1"
    while (row := db.execute(after, (whose,)).fetchone()) is not None:
        whose = row[0]
        heard = db.execute("SELECT 1 FROM events WHERE assistant = ? AND who = ? LIMIT 1", (whose, who)).fetchone()
        if heard is not None and who:
            yield whose, who


def _last_events(db: Database, assistant: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield each pair once with the record of its last event, of one assistant or of all: one search of the index each.

    It goes backwards through the index, in which the last event of a pair comes first then.
    """
    last = """SELECT assistant, who, payload FROM events WHERE {}
              ORDER BY assistant DESC, who DESC, seq DESC LIMIT 1"""
    before = last.format("(assistant, who) < (?, ?)")
    found = db.execute(last.format("assistant = ?" if assistant else "TRUE"), (assistant,) if assistant else ())
    while (row := found.fetchone()) is not None and (not assistant or row[0] == assistant):
        whose, who, record = row
        if who:
            yield whose, who, record
        found = db.execute(before, (whose, who))


def _name_in(record: bytes) -> str:
    """Return the player's name in the record of an event, empty when it cannot be read."""
    try:  # reading the whole event would take five times as long
        return str(parse_json(unseal(record))["who"]["name"])
    except (BrokenRecord, LookupError, TypeError):
        return ""
