"""What somebody typed, and how he is answered: at once, or when the work that it began is over."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger

from assistant.choose_model import NoModelError
from assistant.journal import JournalError
from assistant.key_errors import KeyReferenceError
from assistant.settings import SettingsError
from assistant.worlds.evennia import house
from assistant.worlds.evennia.commands.showing import WIDTH, in_game_words, safe
from assistant.worlds.evennia.house import HouseNotOpen
from resilience import Launcher

FAULT = "That failed through a fault of the program; the log of the server says more."
#: What a command may fail with that is told as it stands.
_TOLD = (NoModelError, SettingsError, KeyReferenceError, JournalError, HouseNotOpen)

_log = Logger()


class Refused(Exception):
    """Why nothing was done, and what to type instead: shown to whoever typed it."""


class Work:
    """What commands have begun and nobody waits for."""

    def __init__(self) -> None:
        self._launcher = Launcher()
        self._open: set[Deferred[None]] = set()

    def begin(self, work: Coroutine[Deferred[Any], Any, Any], what: str) -> None:
        """Let the work go on by itself; what it raises is logged as `what`."""
        over = self._launcher.launch(work, what)
        if not over.called:
            self._open.add(over)
            over.addBoth(lambda _: self._open.discard(over))

    async def settled(self) -> None:
        """Returns when nothing that was begun goes on any more."""
        while self._open:
            await DeferredList(list(self._open))

    def stop(self) -> Deferred[None]:
        """Cancel it all; fires when all of it is over."""
        return self._launcher.stop()


#: The work of all commands of the process. The house stops it when it closes.
WORK = Work()

#: The text of an answer, or the coroutine that comes to it.
Answer = str | Coroutine[Deferred[Any], Any, str]


@dataclass(frozen=True, slots=True)
class Order:
    """A command as it was typed: `left` and `right` of its "=", `right` None without one.

    `account` is who typed it, `character` whom he plays just now, None when nobody. `width` is how many columns their
    screen has.
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
        """Whose rights and eyes count: the character's, or the account's when it plays none."""
        return self.character or self.account

    def say(self, text: str) -> None:
        """Show it to whoever typed the command: nothing in it acts on his screen, and no key is in it."""
        if self.account.pk:
            self.account.msg(safe(scrub(text)))

    def run(self, handler: Callable[[Order], Answer], what: str) -> None:
        """Answer with what `handler` returns, now or when its coroutine is over."""
        try:
            answer = handler(self)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (the border to the game: nobody is shown a traceback)
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
        except Exception as error:  # noqa: BLE001  (the border to the game: nobody is shown a traceback)
            answer = _sentence(error, what)
        self.say(answer)


def scrub(text: str) -> str:
    """The text without keys."""
    try:
        return house.household().scrub(text)
    except HouseNotOpen:
        return text


def _sentence(error: Exception, what: str) -> str:
    """What somebody is told of an error; one of ours is logged."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, _TOLD):
        sentence = " ".join(in_game_words(str(error)).split()).rstrip(".")
        return f"That did not work: {sentence}."
    _log.failure("{what} failed", what=what)
    return FAULT
