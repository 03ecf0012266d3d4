"""Stores whom an assistant has met, under which names, and what each told of themselves, fact by fact. SQL only.

A meeting is written with every event of a person. A fact is written with the memory it is from, and stays when that
memory makes room for others. A newer fact about the same thing, for the same ears, takes the place of the older one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.events.events import Event, Noticed
from mud_assistant.assistant.journal.codec import exact_json
from mud_assistant.assistant.journal.database import Database, holds
from mud_assistant.assistant.journal.tables.memory_row import origin_of, read_origin, storable
from mud_assistant.assistant.journal.tables.sleep_state import load_sleep, save_sleep
from mud_assistant.tools.memories import Fact, FactPart, Memory, MemoryKind, audience_text
from mud_assistant.tools.trust import PEOPLE, Principal

#: A visit begins after so many seconds without a sign of the person.
VISIT_SECONDS = 3600.0
#: The most facts of one part of one person, the most names of one person, and the most people of one assistant.
PART_FACTS, PERSON_NAMES, MOST_PEOPLE = 20, 6, 5000
#: For so long after a question how something went, the next words are its answer, in seconds.
ANSWER_SECONDS = 600.0
#: Stands for the time of the last greeting where the facts of older memories were not read yet.
UNREAD = -1.0
#: Stands for the time of the last question where a matter is over.
CLOSED = -1.0
#: Older journals keep under this key, beside the record of sleep, when each person was greeted.
_GREETED = "greeted"
_OF = "assistant = ? AND who = ?"
_FACT = "name, how, text, event, memory, at, authority, due, asked, origin"
_SELECT = f"SELECT who, part, key, {_FACT} FROM acquaintance_facts WHERE assistant = ?"
_MEET = f"""INSERT INTO acquaintances VALUES (?, ?, ?, ?, ?, ?, 0.0, 1, 0.0)
    ON CONFLICT (assistant, who, called) DO UPDATE SET name = excluded.name,
        visits = acquaintances.visits + CASE WHEN excluded.last_at > acquaintances.last_at + {VISIT_SECONDS}
            THEN 1 ELSE 0 END,
        before_at = CASE WHEN excluded.last_at > acquaintances.last_at + {VISIT_SECONDS}
            THEN acquaintances.last_at ELSE acquaintances.before_at END,
        last_at = CASE WHEN excluded.last_at > acquaintances.last_at
            THEN excluded.last_at ELSE acquaintances.last_at END"""
_LEARN = f"""INSERT INTO acquaintance_facts (assistant, who, part, key, told, {_FACT})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (assistant, who, part, key, told) DO UPDATE SET
        {", ".join(f"{column} = excluded.{column}" for column in _FACT.split(", "))}
    WHERE excluded.at >= acquaintance_facts.at"""
_SPARE = f"""DELETE FROM acquaintance_facts WHERE {_OF} AND part = ? AND at < (
    SELECT at FROM acquaintance_facts WHERE {_OF} AND part = ? ORDER BY at DESC LIMIT 1 OFFSET {PART_FACTS - 1})"""


class Meeting(Struct, frozen=True):
    """How often a person was met under one name, and when, in clock seconds.

    `before_at` is the end of the visit before the last one, `greeted_at` the time of the last greeting; 0 for none.
    """

    who: str
    name: str
    first_at: float
    last_at: float
    before_at: float
    visits: int
    greeted_at: float


class KnownFact(Struct, frozen=True):
    """Something a person told of themselves: what kind of thing, and the memory with its words.

    `due` is the time from which a matter is over, 0 for none. `asked_at` is when the person was last asked how it went:
    0 for never, `CLOSED` for a matter that is over.
    """

    part: FactPart
    key: str
    memory: Memory
    due: float
    asked_at: float


def meet(db: Database, assistant: str, event: Event) -> None:
    """Write down that the person who caused an event was seen under their name; nothing for any other cause.

    What the character only noticed shows nobody: what it promised comes to its mind in their absence.
    """
    if event.who.kind in PEOPLE and not isinstance(event, Noticed):
        name = event.who.name.encode(errors="replace").decode()  # no encoding has lone surrogates
        db.execute(_MEET, (assistant, event.who.id, name.casefold(), name, event.at, event.at))


def learn(db: Database, assistant: str, memory: Memory) -> None:
    """Write down the facts that a memory of somebody's words holds."""
    told = audience_text(memory.audience)
    for fact in memory.facts:
        if fact.part is FactPart.ANSWER:
            _answer(db, assistant, memory, fact)
            continue
        db.execute(
            _LEARN,
            (
                *(assistant, memory.who, fact.part.value, storable(fact.key), told, storable(memory.name), memory.how),
                *(storable(fact.text), memory.event, memory.id, memory.at, memory.authority, fact.due),
                *(CLOSED if fact.is_over else 0.0, origin_of(memory)),
            ),
        )
        whose = (assistant, memory.who)
        db.execute(_SPARE, (*whose, fact.part.value, *whose, fact.part.value))


def _answer(db: Database, assistant: str, memory: Memory, fact: Fact) -> None:
    """Close the matter that the person was asked about, or keep it for another time."""
    whose = (assistant, memory.who, memory.at - ANSWER_SECONDS)
    if fact.is_over:
        db.execute(f"UPDATE acquaintance_facts SET asked = {CLOSED} WHERE {_OF} AND asked > ?", whose)
    elif fact.due:
        db.execute(f"UPDATE acquaintance_facts SET due = ? WHERE {_OF} AND asked > ?", (fact.due, *whose))


def meetings(db: Database, assistant: str, who: str) -> list[Meeting]:
    """Return how a person was met, the latest name first."""
    rows = db.execute(
        f"""SELECT who, name, first_at, last_at, before_at, visits, greeted_at FROM acquaintances WHERE {_OF}
            ORDER BY last_at DESC, name LIMIT {PERSON_NAMES}""",
        (assistant, who),
    )
    return list(starmap(Meeting, rows))


def facts_of(db: Database, assistant: str, who: str) -> list[KnownFact]:
    """Return what a person told of themselves, the newest first."""
    return list(map(_fact_of, db.execute(f"{_SELECT} AND who = ? ORDER BY at DESC, part, key", (assistant, who))))


def called(db: Database, assistant: str, names: Sequence[str], parts: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the words, of `names` and `parts`, under which people were met, each with a person's id.

    All are in lower case. Each of `names` is a whole name; each of `parts` is the first or last word of one.
    """
    found: list[tuple[str, str]] = []
    if names:
        marks = ", ".join("?" * len(names))
        found += db.execute(
            f"SELECT called, who FROM acquaintances WHERE assistant = ? AND called IN ({marks}) ORDER BY first_at, who",
            (assistant, *names),
        ).fetchall()
    for part in parts:
        whole = part.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        rows = db.execute(
            """SELECT who FROM acquaintances WHERE assistant = ?
               AND (called LIKE ? ESCAPE '!' OR called LIKE ? ESCAPE '!') ORDER BY first_at, who""",
            (assistant, f"{whole} %", f"% {whole}"),
        )
        found += [(part, who) for (who,) in rows]
    return found


def left_of(db: Database, assistant: str, principal_id: str, known: Collection[str]) -> list[Memory]:
    """Return the memories that only stand in what is known of people: whose own rows, unlike the `known`, are gone."""
    rows = db.execute(
        f"{_SELECT} AND (who = ? OR {holds(db, 'origin')}) ORDER BY at DESC",
        (assistant, principal_id, exact_json(principal_id)),
    )
    facts = [_fact_of(row).memory for row in rows]
    return list({fact.id: fact for fact in facts if fact.id not in known and fact.is_from(principal_id)}.values())


def mark_greeted(db: Database, assistant: str, who: Principal, at: float) -> None:
    """Write down that a person was greeted, which may be before their arrival is written down."""
    db.execute(f"UPDATE acquaintances SET greeted_at = ? WHERE {_OF}", (at, assistant, who.id))
    name = storable(who.name)
    db.execute(
        """INSERT INTO acquaintances VALUES (?, ?, ?, ?, ?, ?, 0.0, 1, ?)
           ON CONFLICT (assistant, who, called) DO NOTHING""",
        (assistant, who.id, name.casefold(), name, at, at, at),
    )


def mark_asked(db: Database, assistant: str, who: str, fact: KnownFact, at: float) -> None:
    """Write down that a person was asked how something went."""
    db.execute(
        f"UPDATE acquaintance_facts SET asked = ? WHERE {_OF} AND part = ? AND key = ? AND memory = ? AND asked >= 0",
        (at, assistant, who, fact.part.value, fact.key, fact.memory.id),
    )


def mark_read(db: Database, assistant: str, who: str) -> None:
    """Write down that the facts of a person's older memories are read."""
    db.execute(f"UPDATE acquaintances SET greeted_at = 0.0 WHERE {_OF} AND greeted_at < 0", (assistant, who))


def greeted_before(db: Database, assistant: str, who: str) -> float:
    """Return when an older version greeted a person, 0 for never."""
    at = _greeted(load_sleep(db, assistant)).get(who)
    return float(at) if isinstance(at, int | float) else 0.0


def forget_acquaintance(db: Database, assistant: str, principal_id: str) -> None:
    """Remove a person: that they were met and greeted, and every fact with their words in it."""
    db.execute(f"DELETE FROM acquaintances WHERE {_OF}", (assistant, principal_id))
    rows = db.execute(
        f"SELECT who, part, key, told, origin FROM acquaintance_facts WHERE assistant = ? AND {holds(db, 'origin')}",
        (assistant, exact_json(principal_id)),
    ).fetchall()
    theirs = [row[:4] for row in rows if principal_id in read_origin(row[4], row[0])[0]]
    _delete_facts(db, assistant, theirs)
    db.execute(f"DELETE FROM acquaintance_facts WHERE {_OF}", (assistant, principal_id))
    kept = load_sleep(db, assistant)
    if principal_id in (greeted := _greeted(kept)):
        left = {who: at for who, at in greeted.items() if who != principal_id}
        save_sleep(db, assistant, {**_plain(kept), _GREETED: left})


def drop_facts(db: Database, assistant: str, memory_ids: Iterable[str]) -> list[Memory]:
    """Remove the facts that are from these memories. Return the memories as the facts hold them."""
    removed: dict[str, Memory] = {}
    for memory_id in memory_ids:
        key = (assistant, memory_id)
        for row in db.execute(f"{_SELECT} AND memory = ?", key).fetchall():
            removed[memory_id] = _fact_of(row).memory
        db.execute("DELETE FROM acquaintance_facts WHERE assistant = ? AND memory = ?", key)
    return list(removed.values())


def clear_acquaintances(db: Database, assistant: str) -> None:
    """Remove everybody the assistant has met."""
    for table in ("acquaintance_facts", "acquaintances"):
        db.execute(f"DELETE FROM {table} WHERE assistant = ?", (assistant,))


def spare_people(db: Database, assistant: str) -> None:
    """Remove those who were met longest ago, when the assistant has met more people than it keeps."""
    gone = db.execute(
        f"""SELECT who FROM acquaintances WHERE assistant = ? GROUP BY who
            ORDER BY max(last_at) DESC, who LIMIT 1000 OFFSET {MOST_PEOPLE}""",
        (assistant,),
    ).fetchall()
    for table in ("acquaintance_facts", "acquaintances"):
        db.executemany(f"DELETE FROM {table} WHERE {_OF}", [(assistant, who) for (who,) in gone])


def _delete_facts(db: Database, assistant: str, rows: Iterable[Sequence[str]]) -> None:
    db.executemany(
        f"DELETE FROM acquaintance_facts WHERE {_OF} AND part = ? AND key = ? AND told = ?",
        [(assistant, *row) for row in rows],
    )


# Any: a row of `_SELECT`.
def _fact_of(row: Sequence[Any]) -> KnownFact:
    who, part, key, name, how, text, event, memory_id, at, authority, due, asked, origin = row
    sources, audience, made_of, about = read_origin(origin, who)
    memory = Memory(
        memory_id, text, MemoryKind.HEARD, at, who, name, how,
        authority=authority, sources=sources, audience=audience, made_of=made_of, about=about, event=event,
    )  # fmt: skip
    return KnownFact(FactPart(part), key, memory, due, asked)


def _plain(kept: object) -> dict[str, Any]:
    return dict(kept) if isinstance(kept, Mapping) else {}


def _greeted(kept: object) -> Mapping[str, Any]:
    greeted = _plain(kept).get(_GREETED)
    return greeted if isinstance(greeted, Mapping) else {}
