"""What the workers left in their logs, compared with the tables, which are read with plain SQL."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.postgres import PostgresServer

#: Runs and events of effects that were begun and of which nobody knows what came of them.
_UNKNOWN = """SELECT e.id FROM {s}.events e JOIN {s}.run_events re ON re.event = e.seq
    JOIN {s}.intents i ON i.run = re.run WHERE i.effect != 0 AND NOT EXISTS (
        SELECT 1 FROM {s}.results r WHERE r.run = i.run AND r.step = i.step AND r.idx = i.idx)"""
_SETTLED_TWICE = """SELECT e.id FROM {s}.run_events re JOIN {s}.runs r ON r.seq = re.run
    JOIN {s}.events e ON e.seq = re.event WHERE position('"answered"' IN convert_from(r.outcome, 'UTF8')) > 0
    GROUP BY e.id HAVING count(*) > 1"""
_CRASHED = "SELECT id FROM {s}.events WHERE crashes >= 3"
_INTENDED = "SELECT 'run-' || run FROM {s}.intents"
#: A worker that did not act for so long before its line broke had nothing to do.
BUSY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Blow:
    """What was done to a worker, or to the server when `worker` is 0; `at` is when it began, in seconds."""

    kind: str
    worker: int
    at: float


def lines_of(path: Path) -> list[list[Any]]:
    """The lines of a log, none when there is no log."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wrong(folder: Path, server: PostgresServer, schema: str) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Everything that is wrong, by its name, and what was counted."""

    def ids(sql: str) -> list[str]:
        return [row[0] for row in server.execute(sql.format(s=f'"{schema}"'))]

    states = dict(server.execute(f'SELECT id, state FROM "{schema}".events'))  # noqa: S608  (a name of ours)
    acknowledged = {event for *_, event in lines_of(folder / "acknowledged")}
    acts = lines_of(folder / "acts")
    done = Counter(event for *_, events in acts for event in events)
    unknown, crashed = set(ids(_UNKNOWN)), set(ids(_CRASHED))
    intended = set(ids(_INTENDED))
    found = {
        "lost": sorted(acknowledged - set(states)),
        "not dealt with": sorted(event for event, state in states.items() if state != "done"),
        "done twice": sorted(event for event, times in done.items() if times > 1),
        "settled twice": ids(_SETTLED_TWICE),
        "done by none": sorted(set(states) - set(done) - unknown - crashed),
        "done without a word": sorted({run for *_, run, _ in acts} - intended),
        "two holders": two_holders(acts),
        "errors": errors(folder / "workers.log"),
    }
    counted = {
        "events": len(states),
        "acknowledged": len(acknowledged),
        "acts": len(acts),
        "unknown": len(unknown),
        "unknown and done": len(unknown & set(done)),
        "put aside": len(crashed),
    }
    return {name: value for name, value in found.items() if value}, counted


def two_holders(acts: Sequence[Sequence[Any]]) -> list[str]:
    """Acts under a token that is older than one before it, and tokens that two workers acted under.

    The log is written to by one system call each, so its order is that of the acts.
    """
    newest: dict[str, int] = {}
    holders: dict[tuple[str, int], int] = {}
    bad = []
    for worker, at, assistant, token, run, _ in acts:
        if token < newest.get(assistant, 0) or holders.setdefault((assistant, token), worker) != worker:
            bad.append(f"{assistant} {run} by {worker} under {token} after {newest[assistant]} at {at}")
        newest[assistant] = max(token, newest.get(assistant, 0))
    return bad


def errors(log: Path) -> list[str]:
    """The last line of every traceback in a log."""
    found, inside = [], False
    for line in log.read_text().splitlines() if log.exists() else ():
        if "Traceback" in line:
            inside = True
        elif inside and line.strip() and not line.startswith(("\t", "  ")):
            found.append(line.strip())
            inside = False
    return found


def seconds_until_taken(folder: Path, blows: Iterable[Blow]) -> Mapping[str, list[float]]:
    """For each kind of end of a worker, how long each of its assistants was without one."""
    taken: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for worker, at, assistant, token in lines_of(folder / "taken"):
        if token:
            taken[assistant].append((at, worker))
    found: dict[str, list[float]] = defaultdict(list)
    for blow in blows:
        for turns in taken.values():
            before = [worker for at, worker in turns if at <= blow.at]
            after = [at for at, worker in turns if at > blow.at and worker != blow.worker]
            if before and before[-1] == blow.worker and after:
                found[blow.kind].append(min(after) - blow.at)
    return found


def seconds_until_acting(folder: Path, blows: Iterable[Blow]) -> Mapping[str, list[float]]:
    """For each kind of break of a line, how long until the worker, or any, acted again; the server's end is for any."""
    acts = lines_of(folder / "acts")
    found: dict[str, list[float]] = defaultdict(list)
    for blow in blows:
        times = [at for worker, at, *_ in acts if blow.worker in {0, worker}]
        after = [at for at in times if at > blow.at]
        if after and any(blow.at - BUSY_SECONDS < at <= blow.at for at in times):
            found[blow.kind].append(min(after) - blow.at)
    return found


def told(times: Mapping[str, list[float]]) -> dict[str, str]:
    """How often, and the median and the longest of each, in seconds."""
    return {
        kind: f"{len(found)} times, p50 {median(found):.2f}, max {max(found):.2f}"
        for kind, found in sorted(times.items())
    }
