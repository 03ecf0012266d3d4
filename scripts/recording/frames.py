"""Turns a recording into lines of text, each with the time it was there, by playing it to a terminal in memory."""

from __future__ import annotations

from dataclasses import dataclass

import pyte

from scripts.recording.asciicast import Recording

#: Output closer together than this many seconds is one picture.
_TOGETHER = 0.05


@dataclass(frozen=True)
class Span:
    """A piece of a row in one look."""

    column: int
    text: str
    is_bold: bool
    is_reversed: bool


#: A row as it looks.
Row = tuple[Span, ...]


@dataclass(frozen=True)
class Shown:
    """A row of the whole roll that the terminal prints, and from when until when it is so; None: to the end."""

    line: int
    row: Row
    begin: float
    end: float | None


@dataclass(frozen=True)
class Film:
    """All rows, and where the terminal's window stands on the roll from each moment on."""

    shown: list[Shown]
    scrolled: list[tuple[float, int]]
    seconds: float


def film(recording: Recording) -> Film:
    """Play a recording."""
    screen = pyte.HistoryScreen(recording.width, recording.height, history=100_000)
    stream = pyte.Stream(screen)
    there: dict[int, tuple[float, Row]] = {}
    shown: list[Shown] = []
    scrolled: list[tuple[float, int]] = [(0.0, 0)]
    pieces = recording.paced()
    for index, (at, text) in enumerate(pieces):
        stream.feed(text)
        if index + 1 < len(pieces) and pieces[index + 1][0] - at < _TOGETHER:
            continue
        top = len(screen.history.top)
        if top != scrolled[-1][1]:
            scrolled.append((at, top))
        for number in range(screen.lines):
            line, row = top + number, _row(screen, number)
            began, before = there.get(line, (0.0, ()))
            if row == before:
                continue
            if before:
                shown.append(Shown(line, before, began, at))
            there[line] = (at, row)
    shown += [Shown(line, row, began, None) for line, (began, row) in sorted(there.items()) if row]
    return Film(shown, scrolled, pieces[-1][0])


def _row(screen: pyte.Screen, number: int) -> Row:
    """Return the pieces of a row of the screen, without the empty end."""
    spans: list[Span] = []
    cells = [screen.buffer[number][column] for column in range(screen.columns)]
    for column, cell in enumerate(cells):
        if spans and (spans[-1].is_bold, spans[-1].is_reversed) == (cell.bold, cell.reverse):
            last = spans.pop()
            spans.append(Span(last.column, last.text + cell.data, cell.bold, cell.reverse))
        else:
            spans.append(Span(column, cell.data, cell.bold, cell.reverse))
    if spans and not spans[-1].is_reversed:
        last = spans.pop()
        spans.append(Span(last.column, last.text.rstrip(), last.is_bold, last.is_reversed))
    return tuple(span for span in spans if span.text and (span.is_reversed or span.text.strip()))
