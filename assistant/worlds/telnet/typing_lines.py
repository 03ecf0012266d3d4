"""Types lines as a guest would: one at a time, never faster than a person, and only while the character plays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.http_server.token_bucket import TokenBucket
from mud_assistant.assistant.worlds.telnet.profiles.line_forms import Form
from mud_assistant.assistant.worlds.telnet.reading.answer_window import AnswerEnding, AnswerWindow
from mud_assistant.assistant.worlds.telnet.reading.game_ears import Ears
from mud_assistant.tools.errors import ToolFailed

#: Lines a second on average, lines at once, and the most that may wait.
RATE, AT_ONCE, MOST_WAITING = 1.0, 4, 8
HELD_BACK = "You are not in the game now, or it waits for something else, so nothing was typed."
DROPPED = "Too many lines waited to be typed, so this one was dropped."
_log = Logger()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the game answered to a line: how it ended, the lines, and the sentence of a refusal."""

    ending: AnswerEnding
    lines: tuple[tuple[str, str], ...]
    sentence: str = ""


@dataclass(slots=True)
class _LineToType:
    """A line that waits for its turn."""

    line: str
    window: AnswerWindow
    done: Deferred[Answer]


class Typist:
    """Types the lines of one character. `send` sends a line, `may_speak` tells whether the character plays now.

    With `would_type` no line is sent: it gets what would be, and each act counts as done.
    """

    def __init__(
        self,
        clock: IReactorTime,
        send: Callable[[str], None],
        may_speak: Callable[[], bool],
        ears: Ears,
        *,
        would_type: Callable[[str], None] | None = None,
    ) -> None:
        self._clock, self._send, self._may_speak, self._ears = clock, send, may_speak, ears
        self._would_type = would_type
        self._bucket = TokenBucket(clock.seconds, RATE, AT_ONCE)
        self._queue: deque[_LineToType] = deque()
        self._current: _LineToType | None = None
        self._timer: IDelayedCall | None = None

    def ask(self, line: str) -> Deferred[Answer]:
        """Type a line whose answer is all that is printed. Cancelling abandons the wait, not the line."""
        return self._add(line, (), "", is_act=False)

    def act(self, line: str, echoes: Sequence[Form], sent: str = "") -> Deferred[Answer]:
        """Type a line that is done when one of the echoes comes with the words that were sent."""
        return self._add(line, echoes, sent, is_act=True)

    def dropped(self, line: str) -> None:
        """Note that the session did not type a line after all: the character plays no more, or the line came late."""
        current = self._current
        if current is not None and current.line == line:
            current.window.close()
            self._current, self._ears.window = None, None
            if not current.done.called:
                current.done.errback(ToolFailed(HELD_BACK))
            self._go_on()

    def stop(self) -> None:
        """Drop every line that waits: the connection is gone. What was typed already is unconfirmed."""
        waiting, self._queue = self._queue, deque()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        for one in waiting:
            one.done.errback(ToolFailed(HELD_BACK))
        if self._current is not None:
            self._current.window.close()
            self._ended(self._current.window, AnswerEnding.UNKNOWN)

    def _add(self, line: str, echoes: Sequence[Form], sent: str, *, is_act: bool) -> Deferred[Answer]:
        if self._would_type is not None:
            self._would_type(line)
            return succeed(Answer(AnswerEnding.DONE, ()))
        done: Deferred[Answer] = Deferred(self._abandon)
        window = AnswerWindow(self._clock, self._ended, echoes, sent, is_act)
        self._queue.append(_LineToType(line, window, done))
        if len(self._queue) > MOST_WAITING:
            oldest = self._queue.popleft()
            _log.warn("a line that waited to be typed was dropped: {count} wait", count=len(self._queue))
            oldest.done.errback(ToolFailed(DROPPED))
        self._go_on()
        return done

    def _abandon(self, done: Deferred[Answer]) -> None:
        """Forget a line that nobody waits for any more, unless it was typed."""
        self._queue = deque(one for one in self._queue if one.done is not done)

    def _go_on(self) -> None:
        """Type the next line when it may be typed."""
        if self._current is not None or not self._queue or (self._timer is not None and self._timer.active()):
            return
        if not self._may_speak():
            self._queue.popleft().done.errback(ToolFailed(HELD_BACK))
            self._go_on()
            return
        if wait := self._bucket.take():
            self._timer = self._clock.callLater(wait, self._go_on)
            return
        self._current = self._queue.popleft()
        self._ears.window = self._current.window
        self._current.window.open()
        self._send(self._current.line)

    def _ended(self, window: AnswerWindow, ending: AnswerEnding) -> None:
        current, self._current = self._current, None
        self._ears.window = None
        if current is not None and not current.done.called:
            current.done.callback(Answer(ending, tuple(window.lines), window.sentence))
        self._go_on()
