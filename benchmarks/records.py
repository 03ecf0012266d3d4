"""Runs kept as lines of JSON, and two of them side by side.

Every line stands for itself: it says when, on what and with which versions it was measured, so lines of many runs may
be put together in one file and searched.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.figures import Figure, columns, in_order, short
from benchmarks.peers import PEERS

_OURS = ("twisted", "pydantic", "orjson", "treq")
#: Units of what another day or another machine makes another figure of.
TIMES = ("s", "ms", "us", "ms CPU", "events/s")
#: A difference under this share means nothing where there are no quartiles to say so.
SAME = 0.05
_FIELDS = {one.name for one in fields(Figure)}
WARNING = (
    "Ratios, counts and memory compare. Absolute times of another day or another machine do not: no change is told.\n"
    "better, worse: the quartiles do not overlap; memory by 5 % at least; what is counted, at all."
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: when, of what, on what. `date` is ISO 8601 in UTC, `set` is `quick` or `full`."""

    date: str
    commit: str
    set: str
    machine: str
    versions: Mapping[str, str]


def this_run(*, full: bool) -> Run:
    """The run that is going on."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    return Run(date, _commit(), "full" if full else "quick", machine, versions())


def versions() -> dict[str, str]:
    """What took part, by name."""
    found = {"python": platform.python_version()}
    for name in (*_OURS, *(peer.package for peer in PEERS.values())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not there"
    return found


def write_json(path: Path, figures: Sequence[Figure], run: Run) -> None:
    """One line for each figure."""
    lines = [json.dumps({"date": run.date, **asdict(one), "verdict": one.verdict, **asdict(run)}) for one in figures]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_json(path: Path) -> tuple[Run, list[Figure]]:
    """The last run in a file. Raises ValueError for one that has none."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines or any("date" not in line for line in lines):
        raise ValueError(f"{path} holds no run of the benchmark")
    run = Run(**{one.name: lines[-1][one.name] for one in fields(Run)})
    last = [line for line in lines if line["date"] == run.date]
    return run, [Figure(**{name: value for name, value in line.items() if name in _FIELDS}) for line in last]


def comparison(old: tuple[Run, Sequence[Figure]], new: tuple[Run, Sequence[Figure]]) -> str:
    """Two runs side by side, with what differs in what they ran on."""
    before, after = ({one.name: one for one in figures} for _, figures in (old, new))
    rows: list[tuple[str, ...]] = [("goal", "figure", "old", "new", "change", "", "verdict old", "verdict new")]
    for one in in_order(list({**before, **after}.values())):
        first, second = before.get(one.name), after.get(one.name)
        shown = [found.shown if found else "not measured" for found in (first, second)]
        verdicts = [found.verdict if found else "" for found in (first, second)]
        rows.append((one.goal, one.name, *shown, *change(first, second), *verdicts))
    return "\n".join(
        [_told("old", old[0]), _told("new", new[0]), *_differing(old[0], new[0]), "", WARNING, "", columns(rows)]
    )


def change(old: Figure | None, new: Figure | None) -> tuple[str, str]:
    """By how much a figure changed, and whether that is better, worse or neither; blank where nothing can be said."""
    if old is None or new is None or old.value is None or new.value is None:
        return "", ""
    if new.unit in TIMES or new.unit != old.unit:
        return "a time" if new.unit in TIMES else "", ""
    told = f"{round(100 * (new.value / old.value - 1)):+} %" if old.value else f"{short(new.value)} more"
    before, after = _range(old), _range(new)
    if before is None or after is None or (before[0] <= after[1] and after[0] <= before[1]):
        return ("the same" if old.value == new.value else told), ""
    return told, "better" if (after[0] > before[1]) is new.at_least else "worse"


def _range(figure: Figure) -> tuple[float, float] | None:
    """Within which a figure may be by chance; None where nobody can say."""
    assert figure.value is not None
    if figure.low is not None and figure.high is not None:
        return figure.low, figure.high
    if figure.unit == "x":  # of wall times, measured once: another load of the machine gives another
        return None
    if figure.unit in {"", "%"}:
        return (figure.value, figure.value) if figure.limit is not None else None
    return figure.value * (1 - SAME / 2), figure.value * (1 + SAME / 2)


def _told(which: str, run: Run) -> str:
    return f"{which}: {run.date}, the {run.set} set, commit {run.commit}, {run.machine}"


def _differing(old: Run, new: Run) -> list[str]:
    names = [name for name in {**old.versions, **new.versions} if old.versions.get(name) != new.versions.get(name)]
    told = ", ".join(f"{name} {old.versions.get(name)} -> {new.versions.get(name)}" for name in names)
    return [f"versions that differ: {told}"] if told else []


def _commit() -> str:
    """Of the tree that is measured; `unknown` outside of git."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        told = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told.stdout.strip()
