"""Holds what the game answers to one typed line: from the line until its echo, its prompt or silence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from mud_assistant.assistant.worlds.telnet.profiles.line_forms import Form, match_any
from mud_assistant.assistant.worlds.telnet.reading.player_names import loosely
from mud_assistant.assistant.worlds.telnet.reading.surroundings import Line

#: Seconds until an act counts as unconfirmed, and seconds of silence that end an answer.
UNCONFIRMED_AFTER, QUIET = 5.0, 0.4
#: The most lines of one answer that are kept, and the letters of an echo that are compared.
MAX_KEPT, MAX_COMPARED = 200, 60


class AnswerEnding(Enum):
    """How the answer to a line ended."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass
class AnswerWindow:
    """The answer to one line. `ended` is called once, with how it ended; `lines` is what the game printed.

    With `echoes` the answer is the echo of an act, and ends with it. Without, it is all that is printed until the
    prompt or silence; then other people's texts may stand in it, so that nothing in it is anybody's speech.
    """

    clock: IReactorTime
    ended: Callable[[AnswerWindow, AnswerEnding], None]
    echoes: Sequence[Form] = ()
    sent: str = ""
    is_act: bool = False
    lines: list[Line] = field(default_factory=list)
    sentence: str = ""
    #: Whether anything came that is no speech of others, which may come at any time.
    _is_answered: bool = False
    #: What ends the echo, where the game broke it into several lines and the first of them came.
    _tail: str | None = None
    _timers: list[IDelayedCall] = field(default_factory=list)
    _is_open: bool = False

    def open(self) -> None:
        """Begin to listen: the line was sent now."""
        self._is_open = True
        self._timers = [self.clock.callLater(UNCONFIRMED_AFTER, self._late)]

    def close(self) -> None:
        """Stop to listen, without an end; what is called twice does nothing."""
        self._is_open = False
        for timer in self._timers:
            if timer.active():
                timer.cancel()

    @property
    def collects(self) -> bool:
        """Whether everything that is printed now belongs to the answer."""
        return self._is_open and not self.is_act

    def take(self, shown: str, colour: str, errors: Sequence[Form], *, is_speech: bool = False) -> bool:
        """Take a line that was heard. Return whether it belongs to the answer alone.

        `is_speech` says that it has the form of speech: somebody may have spoken before the game answered.
        """
        if not self._is_open:
            return False
        is_first = not self._is_answered
        if (self.is_act or is_first) and match_any(errors, shown.strip()) is not None:
            self.sentence = shown.strip()
            self._end(AnswerEnding.REFUSED)
            return True
        if self.is_act:
            if self._tail is None and not self._is_echo(shown):
                return False
            if not self._tail or shown.endswith(self._tail):
                self._end(AnswerEnding.DONE)
            return True
        if len(self.lines) < MAX_KEPT:
            self.lines.append((shown, colour))
        self._is_answered = self._is_answered or (bool(shown.strip()) and not is_speech)
        if self._is_answered:
            self._restart_quiet()
        return True

    def prompt(self) -> None:
        """Note that the game waits for the next line."""
        if (self.collects or self._tail is not None) and self._is_answered:
            self._end(AnswerEnding.DONE)

    def _is_echo(self, shown: str) -> bool:
        """Tell whether a line is the echo of the act, or the first of its lines."""
        found = match_any(self.echoes, shown)
        if found is not None:
            return "text" not in found[1] or self._is_sent(found[1]["text"])
        for form in self.echoes:
            begun = form.begins.fullmatch(shown) if form.begins is not None else None
            if begun is not None and self._is_sent(begun["text"]):
                self._tail, self._is_answered = form.tail, True
                return True
        return False

    def _is_sent(self, words: str) -> bool:
        heard, sent = loosely(words)[:MAX_COMPARED], loosely(self.sent)[:MAX_COMPARED]
        return heard == sent or (bool(heard) and sent.startswith(heard)) or (bool(sent) and heard.startswith(sent))

    def _restart_quiet(self) -> None:
        if len(self._timers) > 1 and self._timers[1].active():
            self._timers[1].reset(QUIET)
        else:
            self._timers[1:] = [self.clock.callLater(QUIET, self._quiet)]

    def _quiet(self) -> None:
        self._end(AnswerEnding.DONE)

    def _late(self) -> None:
        self._end(AnswerEnding.DONE if self._is_answered else AnswerEnding.UNKNOWN)

    def _end(self, ending: AnswerEnding) -> None:
        self.close()
        self.ended(self, ending)
