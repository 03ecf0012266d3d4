"""Joins the lines into which a game breaks what somebody says, and tells what may be the second half of a line."""

from __future__ import annotations

from dataclasses import dataclass

from mud_assistant.assistant.worlds.telnet.reading.line_reader import LineReader

#: The most lines that one spoken line is joined from, and how near to the margin a broken line ends, in characters.
MAX_JOINED, NEAR = 6, 25


@dataclass(frozen=True, slots=True)
class Whole:
    """A line that is complete. `is_doubtful` when another person may have chosen where it begins or ends."""

    text: str
    is_doubtful: bool = False


class LineBreaks:
    """Holds back the beginning of a spoken line until the rest of it is there.

    `margin` is where the game breaks lines, 0 where that is not known: then only an open quotation goes on.

    Whoever chooses the words of a long line chooses where the game breaks it, and so how the second half looks. A line
    that may be a second half is doubtful. In some games players put a line break into what they say (`%r`, `{/`): so
    what comes together with a quotation that was not closed is doubtful, and, with `by_players`, what comes together
    with any other line.
    """

    def __init__(self, reader: LineReader, margin: int, *, by_players: bool = False) -> None:
        self._reader = reader
        self._margin = margin
        self._by_players = by_players
        self._is_open = False
        self._held: list[str] = []
        self._is_doubtful = False
        self._before = ""

    def take(self, text: str, *, is_first: bool = True) -> list[Whole]:
        """Take a line; return those that are complete now. `is_first` says that silence came before it."""
        is_second = not is_first and (self._by_players or self._is_open)
        before, self._before = self._before, text
        given_up: list[Whole] = []
        if self._held and not self._has_tail() and text[:2].strip():
            given_up = self.give_up()
        if self._held:
            return self._add(text)
        if self._margin:
            first = len(text.split(" ", 1)[0])
            is_second = is_second or (bool(before.strip()) and len(before.rstrip()) + 1 + first > self._margin - 2)
        if self._goes_on(text):
            self._held, self._is_doubtful = [text], is_second
            return given_up
        self._is_open = self._is_open and not is_first
        return [*given_up, Whole(text, is_second)]

    def give_up(self) -> list[Whole]:
        """Return what is held back, for no more of it comes, and forget the line before."""
        held, self._held = self._held, []
        self._before = ""
        if not held:
            return []
        self._is_open = self._is_open or self._reader.has_tail(held[0])
        return [Whole(" ".join(held), self._is_doubtful or self._reader.has_tail(held[0]))]

    def _goes_on(self, text: str) -> bool:
        """Tell whether the line is spoken and not to its end: a long one, or a quotation that is not closed."""
        if not self._reader.begins_speech(text):
            return False
        has_tail = self._reader.has_tail(text)
        if self._reader.is_speech(text) and (has_tail or not self._margin):
            return False
        return has_tail or (bool(self._margin) and len(text) >= self._margin - NEAR)

    def _has_tail(self) -> bool:
        return self._reader.has_tail(self._held[0])

    def _add(self, text: str) -> list[Whole]:
        self._is_doubtful = self._is_doubtful or self._reader.is_speech(text)
        self._held.append(text.strip())
        joined = " ".join(self._held)
        is_complete = self._has_tail() and self._reader.is_speech(joined)
        if not is_complete and len(self._held) < MAX_JOINED:
            return []
        # Where the game is not known to break lines, the speaker may have done it, and gone on with a forged line.
        self._held, self._is_open = [], not (is_complete and self._margin)
        return [Whole(joined, self._is_doubtful or not is_complete)]
