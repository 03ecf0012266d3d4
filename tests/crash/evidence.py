"""What the world, the model and the hook saw, compared with the journal: after every kill, and at the end.

The journal is read with plain SQL, so that no mistake of the code under test can hide itself here.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: A call: its run, step and place in the step.
At = tuple[int, int, int]
#: Everything the model of the harness wants spoken: events, step, place, number of the request.
UTTERANCE = re.compile(r"ev-[\d+ev-]+ \d+ \d+ \d+")
SPEECH = ("say", "emote", "whisper")
_BEGUN = """SELECT runs.assistant, run, step, idx FROM intents JOIN runs ON runs.seq = run
    WHERE {which} AND effect AND NOT EXISTS (SELECT 1 FROM results
        WHERE results.run = intents.run AND results.step = intents.step AND results.idx = intents.idx)"""
_SETTLED_TWICE = """SELECT events.id FROM run_events JOIN runs ON runs.seq = run JOIN events ON events.seq = event
    WHERE closed_at IS NOT NULL AND instr(outcome, '"failed"') = 0 GROUP BY event HAVING count(*) > 1"""
#: Answers to be kept. Not those of a run that failed, or that is to be put aside: its events crashed too often.
_ANSWERED = """SELECT events.id, step FROM responses
    JOIN runs ON runs.seq = responses.run JOIN run_events ON run_events.run = runs.seq
    JOIN events ON events.seq = event WHERE runs.seq >= ? AND instr(coalesce(outcome, ''), '"failed"') = 0
    AND NOT (closed_at IS NULL AND EXISTS (SELECT 1 FROM run_events AS other JOIN events AS bad ON bad.seq = other.event
        WHERE other.run = runs.seq AND bad.crashes >= 2))"""

#: Events that a run will be made of, or is. Not those of a run that is put aside as soon as the next life begins:
#: nobody tells of its end, and a life with nothing else before it would wait for ever.
_WAITING = """SELECT assistant FROM events WHERE state = 'pending' AND NOT EXISTS (
    SELECT 1 FROM run_events JOIN runs ON runs.seq = run_events.run
    JOIN run_events AS other ON other.run = runs.seq JOIN events AS bad ON bad.seq = other.event
    WHERE run_events.event = events.seq AND closed_at IS NULL AND bad.crashes >= 2)"""


@dataclass
class Findings:
    """What is wrong, each list empty when all is well, and what was counted."""

    lost_events: list[str] = field(default_factory=list)
    unsettled_events: list[str] = field(default_factory=list)
    settled_twice: list[str] = field(default_factory=list)
    unanswered_events: list[str] = field(default_factory=list)
    repeated_utterances: list[str] = field(default_factory=list)
    repeated_answers: list[str] = field(default_factory=list)
    repeated_moves: list[str] = field(default_factory=list)
    missing_unlisted: list[str] = field(default_factory=list)
    unjournalled_utterances: list[str] = field(default_factory=list)
    too_many_unknown: list[str] = field(default_factory=list)
    unknown_unlisted: list[str] = field(default_factory=list)
    listed_not_unknown: list[str] = field(default_factory=list)
    said_when_shut_out: list[str] = field(default_factory=list)
    repeated_requests: list[str] = field(default_factory=list)
    open_runs: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    counted: dict[str, Any] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, list[str]]:
        """Everything that is wrong, by its name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, list) and value}


class Evidence:
    """Looks at the journal of a folder after each kill, and at everything at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.findings = Findings()
        #: Effects that a kill found begun, with the life that was killed.
        self.begun: dict[At, int] = {}
        self._answered: dict[int, frozenset[tuple[str, int]]] = {}
        self._settled_answers: frozenset[tuple[str, int]] = frozenset()
        self._low = 0

    def after_kill(self, life: int, acknowledged: Iterable[str]) -> Counter[str]:
        """Note what this kill left, and what of it must not be; how many events wait for each assistant."""
        if not (self._folder / "journal.sqlite").exists():
            self._missing_events(set(acknowledged), "before there was a journal")
            return Counter()
        with closing(self._open()) as db:
            known = {event_id for (event_id,) in db.execute("SELECT id FROM events")}
            self._missing_events(set(acknowledged) - known, f"after life {life}")
            new: Counter[str] = Counter()
            for assistant, *at in db.execute(_BEGUN.format(which="closed_at IS NULL")):
                if self.begun.setdefault((at[0], at[1], at[2]), life) == life:
                    new[assistant] += 1
            self.findings.too_many_unknown += [
                f"{assistant}: {count} after life {life}" for assistant, count in new.items() if count > 1
            ]
            self._answered[life] = self._answers(db)
            return Counter(name for (name,) in db.execute(_WAITING))

    def at_end(self, acknowledged: Iterable[str], told: dict[str, dict[str, Any]], hide: str) -> Findings:
        """Compare everything. `told` is what the last life said of each assistant; `hide` is the excuse."""
        with closing(self._open()) as db:
            self._events(db, set(acknowledged))
            acts = [act for act in self._lines("world.log") if act["text"] != hide]
            self._utterances(db, acts, {mark for one in told.values() for mark in one["parked"]})
            self._moves(db, acts)
            self._unknown(
                db, {(_number(run), step, index) for one in told.values() for run, step, index in one["unknown"]}
            )
            self._requests()
            self.findings.damage += [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            counts = {
                table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  (four names)
                for table in ("events", "runs", "responses", "intents")
            }
        counts["acts"] = len(acts)
        counts["excuses"] = len(self._lines("world.log")) - len(acts)
        counts["begun at a kill"] = len(self.begun)
        counts["parked"] = sum(len(one["parked"]) for one in told.values())
        self.findings.counted |= counts
        return self.findings

    def begun_words(self) -> set[str]:
        """What was begun to be said when a process was killed or stopped."""
        with closing(self._open()) as db:
            return {_utterance(db, at) for at in self.begun}

    def _events(self, db: sqlite3.Connection, acknowledged: set[str]) -> None:
        states = dict(db.execute("SELECT id, state FROM events").fetchall())
        self._missing_events(acknowledged - set(states), "at the end")
        self.findings.unsettled_events += sorted(name for name, state in states.items() if state != "done")
        self.findings.settled_twice += [event_id for (event_id,) in db.execute(_SETTLED_TWICE)]
        self.findings.open_runs += [
            f"run-{run}" for (run,) in db.execute("SELECT seq FROM runs WHERE closed_at IS NULL")
        ]

    def _missing_events(self, missing: set[str], when: str) -> None:
        self.findings.lost_events += [f"{name} {when}" for name in sorted(missing)]

    def _utterances(self, db: sqlite3.Connection, acts: list[dict[str, Any]], parked: set[str]) -> None:
        """Compare what was said with what was asked for, both ways."""
        spoken = [act["text"] for act in acts if act["act"] in SPEECH]
        self.findings.repeated_utterances += sorted(text for text, times in Counter(spoken).items() if times > 1)
        slots = Counter(text.rpartition(" ")[0] for text in set(spoken) if not parked.intersection(_marks(text)))
        self.findings.repeated_answers += sorted(slot for slot, times in slots.items() if times > 1)
        asked, intended, given_up = self._asked(db)
        self.findings.unjournalled_utterances += sorted(set(spoken) - intended)
        begun = {_utterance(db, at) for at in self.begun}
        answered = {mark for text in {*spoken, *begun} for mark in _marks(text)}
        events = {event_id for (event_id,) in db.execute("SELECT id FROM events")}
        self.findings.unanswered_events += sorted(events - answered)
        self.findings.missing_unlisted += sorted(asked - set(spoken) - begun - given_up)
        self.findings.counted |= {
            "utterances": len(spoken),
            "asked for": len(asked),
            "not said, given up": len((asked & given_up) - set(spoken) - begun),
            "not said, unknown": len((asked & begun) - set(spoken)),
            "said, unknown": len(set(spoken) & begun),
        }

    def _asked(self, db: sqlite3.Connection) -> tuple[set[str], set[str], set[str]]:
        """What was asked for in journalled answers; what of it has an intent; what was asked in runs given up."""
        asked, given_up = set(), set()
        for failed, record in db.execute(
            "SELECT coalesce(instr(outcome, '\"failed\"'), 0), payload FROM responses JOIN runs ON runs.seq = run"
        ):
            texts = set(UTTERANCE.findall(_text(record)))
            asked |= texts
            given_up |= texts if failed else set()
        intended = {
            found
            for (record,) in db.execute("SELECT payload FROM intents")
            for found in UTTERANCE.findall(_text(record))
        }
        return asked, asked & intended, given_up

    def _moves(self, db: sqlite3.Connection, acts: list[dict[str, Any]]) -> None:
        """As many walks as were begun, but for those that a kill found begun; a walk into nothing is none."""
        intents = [
            at
            for *at, record in db.execute("SELECT run, step, idx, payload FROM intents WHERE effect")
            if _call(record)["name"] == "move"
        ]
        walked = sum(act["act"] == "move" for act in acts)
        unsure = sum(tuple(at) in self.begun for at in intents)
        if not len(intents) - unsure <= walked <= len(intents):
            self.findings.repeated_moves.append(f"{walked} walks of {len(intents)} begun, {unsure} of them unsure")
        self.findings.counted |= {"moves": walked, "moves unsure": unsure}

    def _unknown(self, db: sqlite3.Connection, listed: set[At]) -> None:
        """Compare what is listed as unknown with what kills found begun; of a walk it can be seen what came of it."""
        looked_up = {at for at in self.begun if _at(db, "results", at)}
        for at in looked_up:
            if (name := _call(_at(db, "intents", at))["name"]) != "move":
                self.findings.unknown_unlisted.append(f"{at}, a {name}, has a result")
        self.findings.unknown_unlisted += [str(at) for at in sorted(set(self.begun) - looked_up - listed)]
        self.findings.listed_not_unknown += [str(at) for at in sorted(listed - set(self.begun))]
        self.findings.counted |= {"unknown": len(listed), "looked up": len(looked_up)}

    def _requests(self) -> None:
        """No request asks for an answer that was in the journal when the life before it was killed."""
        requests = [line for line in self._lines("model.log") if line["marks"]]
        for line in requests:
            had = self._answered.get(line["life"] - 1, frozenset())
            if all((mark, line["step"]) in had for mark in line["marks"]):
                self.findings.repeated_requests.append(f"{line['marks']} step {line['step']} in life {line['life']}")
        times = Counter((tuple(line["marks"]), line["step"]) for line in requests)
        self.findings.counted |= {"requests": len(requests), "requests made again": sum(times.values()) - len(times)}

    def _answers(self, db: sqlite3.Connection) -> frozenset[tuple[str, int]]:
        """Each event and step that has an answer to keep; those of runs long over are remembered."""
        found = frozenset(db.execute(_ANSWERED, (self._low,)).fetchall()) | self._settled_answers
        low = db.execute(
            "SELECT coalesce(min(seq), (SELECT max(seq) + 1 FROM runs), 0) FROM runs WHERE closed_at IS NULL"
        ).fetchone()[0]
        self._settled_answers |= {
            (event, step) for event, step in db.execute(_ANSWERED + " AND runs.seq < ?", (self._low, low))
        }
        self._low = low
        return found

    def _lines(self, name: str) -> list[dict[str, Any]]:
        return lines_of(self._folder / name)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self._folder / 'journal.sqlite'}?mode=ro", uri=True)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a log, none when there is no log."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _marks(text: str) -> list[str]:
    return text.partition(" ")[0].split("+")


def _number(run_id: str) -> int:
    return int(run_id.removeprefix("run-"))


def _text(record: bytes) -> str:
    return record[: record.rindex(b"#")].decode()


def _call(record: bytes) -> dict[str, Any]:
    call: dict[str, Any] = json.loads(_text(record))
    return call


def _at(db: sqlite3.Connection, table: str, at: At) -> bytes:
    """The record of a call, empty when there is none."""
    row = db.execute(f"SELECT payload FROM {table} WHERE (run, step, idx) = (?, ?, ?)", at).fetchone()  # noqa: S608
    return bytes(row[0]) if row else b""


def _utterance(db: sqlite3.Connection, at: At) -> str:
    """What the call at this place says, empty when it is no speech."""
    record = _at(db, "intents", at)
    found = UTTERANCE.search(_text(record)) if record else None
    return found[0] if found else ""
