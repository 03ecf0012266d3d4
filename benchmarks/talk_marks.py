"""Reads marked sheets back: the shares of each run, how far the readers agree, and where they do not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import fmean, pvariance

from benchmarks.talk_sheet import SCALES, SheetError

_BLOCK = re.compile(r"##\s*(\d+)\s*")
_MARK = re.compile(r"\**\s*Mark:\s*\**\s*(\S*)\s*(.*)", re.IGNORECASE)
_NAME = re.compile(r"Sheet:\s*(\w+)\s*")


@dataclass(frozen=True, slots=True)
class Key:
    """Which answer of a sheet is whose: its run, its item, and its turn from 0 on."""

    sheet: str
    scale: str
    answers: Mapping[int, tuple[str, str, int]]


@dataclass(frozen=True, slots=True)
class Reading:
    """The marks of one reader by the numbers of the answers, with their remarks and what each block showed."""

    reader: str
    marks: Mapping[int, str]
    remarks: Mapping[int, str]
    shown: Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Share:
    """A share or a mean, and its standard error."""

    value: float
    error: float


def read_key(file: Path) -> Key:
    """Read the key of a sheet. Raises OSError and SheetError. Blocks."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        owners = {
            int(number): (str(run), str(item), int(turn)) for number, (run, item, turn) in told["answers"].items()
        }
        key = Key(str(told["sheet"]), str(told["scale"]), owners)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SheetError(f"{file} is no key of a sheet: it is the file SHEET.key.json that lay beside it") from error
    if key.scale not in SCALES:
        raise SheetError(f"{file}: the scale is {' or '.join(SCALES)}, not '{key.scale}'")
    return key


def read_marks(file: Path, key: Key) -> Reading:
    """Read a marked sheet. Raises OSError, and SheetError that names each wrong line and what is right. Blocks."""
    reading = _Sheet(file, key)
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), 1):
        reading.take(number, line.strip())
    return reading.whole()


class _Sheet:
    """A sheet while its lines are read; every fault is noted, so that a reader can mend them all at once."""

    def __init__(self, file: Path, key: Key) -> None:
        self._file = file
        self._key = key
        self._valid = {given: mark for mark, word, _ in SCALES[key.scale] for given in (mark, word)}
        self._said = ", ".join(dict.fromkeys(f"{mark} ({word})" for mark, word, _ in SCALES[key.scale]))
        self._at: int | None = None
        self._faults: list[str] = []
        self._lines: dict[int, int] = {}
        self._marks: dict[int, str] = {}
        self._remarks: dict[int, str] = {}
        self._shown: dict[int, list[str]] = {}

    def take(self, number: int, line: str) -> None:
        """Take in one line of the file."""
        if found := _NAME.fullmatch(line):
            if found[1] != self._key.sheet:
                self._fault(number, f"this is sheet {found[1]}, and the key is of sheet {self._key.sheet}")
        elif found := _BLOCK.fullmatch(line):
            self._begin(number, int(found[1]))
        elif found := _MARK.fullmatch(line):
            self._mark(number, found[1].casefold(), found[2])
        elif line.startswith("#"):
            self._at = None
        elif line and self._at is not None:
            self._shown[self._at].append(line)

    def whole(self) -> Reading:
        """Return the marks. Raises SheetError with all faults."""
        for answer in self._key.answers:
            if answer not in self._lines:
                self._faults.append(f"{self._file}: answer {answer} is not in it: put its block back")
            elif answer not in self._marks:
                self._fault(self._lines[answer], f"answer {answer} has no mark: write {self._said} behind 'Mark:'")
        if self._faults:
            raise SheetError("\n".join(self._faults))
        return Reading(self._file.stem, self._marks, self._remarks, self._shown)

    def _begin(self, number: int, answer: int) -> None:
        self._at = None
        if answer not in self._key.answers:
            self._fault(number, f"there is no answer {answer}: they are 1 to {len(self._key.answers)}")
        elif answer in self._lines:
            self._fault(number, f"answer {answer} is there twice, in line {self._lines[answer]} too: keep one of them")
        else:
            self._at, self._lines[answer], self._shown[answer] = answer, number, []

    def _mark(self, number: int, given: str, remark: str) -> None:
        mark = self._valid.get(given.strip("`*.,;:()"))
        if self._at is None:
            self._fault(number, "this mark belongs to no answer: it stands below a line such as '## 7'")
        elif self._at in self._marks:
            self._fault(number, f"answer {self._at} has a mark already: keep one of them")
        elif mark is not None:
            self._marks[self._at], self._remarks[self._at] = mark, remark
        elif given:
            self._fault(number, f"'{given}' is no mark: write {self._said}")
            self._marks[self._at] = ""

    def _fault(self, number: int, sentence: str) -> None:
        self._faults.append(f"{self._file}:{number}: {sentence}")


def shares(key: Key, readings: Sequence[Reading], run: str) -> dict[str, Share]:
    """Return of one run the share of each mark, and with numbers the mean, under the name `mean`.

    Of several readers an answer has the mean; the error is that of the answers, as if they were drawn by lot.
    """
    answers = [answer for answer, (whose, _, _) in key.answers.items() if whose == run]
    marks = SCALES[key.scale]
    per_answer = {
        word: [fmean(one.marks[answer] == mark for one in readings) for answer in answers] for mark, word, _ in marks
    }
    if key.scale == "3":
        per_answer["mean"] = [fmean(float(one.marks[answer]) for one in readings) for answer in answers]
    return {word: Share(fmean(values), sqrt(pvariance(values) / len(values))) for word, values in per_answer.items()}


def agreement(one: Reading, other: Reading) -> tuple[float, float | None]:
    """Return the share of equal marks and Cohen's kappa, which is None when both gave one and the same mark to all."""
    size = len(one.marks)
    same = sum(one.marks[answer] == other.marks[answer] for answer in one.marks) / size
    marks = set(one.marks.values()) | set(other.marks.values())
    by_chance = sum(_count(one, mark) * _count(other, mark) for mark in marks) / size**2
    return same, None if by_chance == 1 else (same - by_chance) / (1 - by_chance)


def _count(reading: Reading, mark: str) -> int:
    return sum(given == mark for given in reading.marks.values())


def told(key: Key, readings: Sequence[Reading]) -> str:
    """Return what the readers found as text: the runs, the agreement, and the answers that they disagreed on."""
    rows = [["run", "read by", "answers", *shares(key, readings, next(iter(key.answers.values()))[0])]]
    for run in dict.fromkeys(whose for whose, _, _ in key.answers.values()):
        size = sum(whose == run for whose, _, _ in key.answers.values())
        each = [[one] for one in readings] if len(readings) > 1 else []
        for some in [list(readings), *each]:
            by = "all" if some == list(readings) and each else some[0].reader
            rows.append([run, by, str(size), *_cells(shares(key, some, run))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*table, *_agreed(readings), *_disagreed(key, readings)])


def _cells(found: Mapping[str, Share]) -> Iterator[str]:
    for word, share in found.items():
        if word == "mean":
            yield f"{share.value:.2f} (± {share.error:.2f})"
        else:
            yield f"{100 * share.value:.0f} % (± {100 * share.error:.0f})"


def _agreed(readings: Sequence[Reading]) -> Iterator[str]:
    for one, other in combinations(readings, 2):
        same, kappa = agreement(one, other)
        spelled = "not defined" if kappa is None else f"{kappa:.2f}"
        yield f"{one.reader} and {other.reader} agree on {100 * same:.0f} % of {len(one.marks)}; kappa {spelled}"


def _disagreed(key: Key, readings: Sequence[Reading]) -> Iterator[str]:
    for answer, (run, item, turn) in sorted(key.answers.items()):
        if len({one.marks[answer] for one in readings}) > 1:
            given = ", ".join(f"{one.reader} {one.marks[answer]} {one.remarks[answer]}".rstrip() for one in readings)
            lines = [line for line in readings[0].shown[answer] if line != ">"]
            at = lines.index("Heard:") if "Heard:" in lines else 0
            yield f"\n{answer} ({run}, {item}, turn {turn + 1}): {given}"
            yield from (f"  {line}" for line in lines[at:])
