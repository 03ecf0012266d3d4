"""A command as it was typed, and its answer: at once, or when the work that it began is over."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger

from assistant.errors import AssistantError, ServiceNotRunning
from assistant.worlds.evennia import server
from assistant.worlds.evennia.console.showing import WIDTH, in_game_words, safe
from resilience import Launcher

FAULT = "That failed through a fault of the program; the log of the server says more."

_log = Logger()


class CommandRefused(Exception):
    """Nothing was done; the message says why, and what to type instead. It is shown to the player."""


class Work:
    """The work that commands have begun, which no caller waits for."""

    def __init__(self) -> None:
        self._launcher = Launcher()
        self._open: set[Deferred[None]] = set()

    def begin(self, work: Coroutine[Deferred[Any], Any, Any], what: str) -> None:
        """Start the work. An error that it raises is logged as `what`."""
        over = self._launcher.launch(work, what)
        if not over.called:
            self._open.add(over)
            over.addBoth(lambda _: self._open.discard(over))

    async def settled(self) -> None:
        """Wait until all work that was begun is over."""
        while self._open:
            await DeferredList(list(self._open))

    def stop(self) -> Deferred[None]:
        """Cancel all work; fires when it is over."""
        return self._launcher.stop()


#: The work of all commands of the process. It is stopped when the Server stops.
WORK = Work()

#: The text of an answer, or the coroutine that returns it.
Answer = str | Coroutine[Deferred[Any], Any, str]


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command as it was typed: the `left` and the `right` of its "="; `right` is None without a "=".

    `account` typed the command. `character` is the one that the player plays now, None for none. `width` is how many
    columns their screen has.
    """

    # Any: Evennia has no types.
    account: Any
    character: Any
    left: str = ""
    right: str | None = None
    work: Work = field(default=WORK)
    width: int = WIDTH

    @property
    def who(self) -> Any:
        """The character or, when none is played, the account: its rights count, and what it can see."""
        return self.character or self.account

    def say(self, text: str) -> None:
        """Show the text to the player, escaped so that nothing in it acts on their screen, and without keys."""
        if self.account.pk:
            self.account.msg(safe(scrub(text)))

    def run(self, handler: Callable[[TypedCommand], Answer], what: str) -> None:
        """Answer with what `handler` returns, now or when its coroutine is over."""
        try:
            answer = handler(self)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (the border to the game: players are shown no traceback)
            self.say(_sentence(error, what))
            return
        if isinstance(answer, str):
            self.say(answer)
        else:
            self.work.begin(self._later(answer, what), what)

    async def _later(self, work: Coroutine[Deferred[Any], Any, str], what: str) -> None:
        try:
            answer = await work
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (the border to the game: players are shown no traceback)
            answer = _sentence(error, what)
        self.say(answer)


def scrub(text: str) -> str:
    """Return the text without keys."""
    try:
        return server.service().scrub(text)
    except ServiceNotRunning:
        return text


def _sentence(error: Exception, what: str) -> str:
    """Return the sentence that a player is shown for an error. An unexpected error is logged."""
    if isinstance(error, CommandRefused):
        return str(error)
    if isinstance(error, AssistantError):
        sentence = " ".join(in_game_words(str(error)).split()).rstrip(".")
        return f"That did not work: {sentence}."
    _log.failure("{what} failed", what=what)
    return FAULT
