"""A command as it was typed, which assistant it means, and its answer: at once, or when the work it began is over.

A name is found by its beginning; a text that fits no name is answered with those there are.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger

from mud_assistant.assistant.errors import AssistantError, ServiceNotRunning
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.service.operations.operators import InvalidInput, OperationRefused, Operator, VisitorRole
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.console.showing import WIDTH, in_game_words, join_names, safe, sentence
from mud_assistant.resilience import Launcher

FAULT = "That failed through a fault of the program; the log of the server says more."
_log = Logger()
_YES, _FORGET = "yes", "forget"


class CommandRefused(InvalidInput):
    """A command that was not carried out. The message, which the player is shown, says why and what to type instead."""


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


class TypedCommand(Struct, frozen=True):
    """A command as it was typed: the `left` and the `right` of its "="; `right` is None without a "=".

    `account` typed the command. `character` is the one that the player plays now, None for none. `width` is how many
    columns their screen has. `switches` are those behind the first, in lower case.
    """

    # Any: Evennia has no types.
    account: Any
    character: Any
    left: str = ""
    right: str | None = None
    work: Work = field(default=WORK)
    width: int = WIDTH
    switches: tuple[str, ...] = ()

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


class Switch(NamedTuple):
    """One switch. `usage` is what to type after it; `bare` says what happens without "=" or without a name."""

    does: Callable[[TypedCommand], Answer]
    usage: str
    meaning: str
    bare: str
    example: str


def operator_of(typed: TypedCommand) -> Operator:
    """Return who typed a command, with the permission they have now. The lock of the command lets owners in alone."""
    return Operator(principal_of(typed.who, typed.who), VisitorRole.OWNER)


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
    if isinstance(error, OperationRefused):
        return sentence(in_game_words(str(error)))
    if isinstance(error, AssistantError):
        why = " ".join(in_game_words(str(error)).split()).rstrip(".")
        return f"That did not work: {why}."
    _log.failure("{what} failed", what=what)
    return FAULT


def find_assistant(text: str, usage: str) -> Any:
    """Return the assistant that `text` names: by its name, the beginning of it, or #NUMBER.

    Without a text it is the only assistant of the game. Raises InvalidInput; `usage` is what to type.
    """
    there = creation.assistants()
    if not there:
        raise CommandRefused("There is no assistant yet. Make one with: assistant/create NAME")
    return find_among(there, text, usage)


def find_among(there: Sequence[Any], text: str, usage: str) -> Any:
    """Return the one of these assistants that `text` names. Raises InvalidInput."""
    if not text:
        if len(there) == 1:
            return there[0]
        raise CommandRefused(f"Which one: {join_names(one.key for one in there)}? Type: {usage}")
    by_number = [one for one in there if text == f"#{one.pk}"]
    if by_number:
        return by_number[0]
    name = match_name(text, (one.key for one in there), "assistant")
    same = [one for one in there if one.key == name]
    if len(same) > 1:
        raise CommandRefused(
            f"There are several named {name}: type {join_names(f'#{one.pk}' for one in same)} instead."
        )
    return same[0]


def find_exactly(text: str, usage: str) -> Any:
    """Return the assistant of just this name or #NUMBER: for what cannot be undone. Raises InvalidInput."""
    one = find_assistant(text, usage)
    if text.casefold() not in {one.key.casefold(), f"#{one.pk}"}:
        raise CommandRefused(f"This cannot be undone, so type the whole name: {one.key}.")
    return one


def split_assistant(text: str, usage: str) -> tuple[Any, str]:
    """Return the assistant that the first words name, and the words after them. Raises InvalidInput.

    When there is only one assistant, its name may be left out before a number.
    """
    words = text.split()
    if not words or (len(creation.assistants()) == 1 and words[0].isdigit()):
        return find_assistant("", usage), text
    for size in range(len(words), 1, -1):
        try:
            return find_assistant(" ".join(words[:size]), usage), " ".join(words[size:])
        except InvalidInput:
            continue
    return find_assistant(words[0], usage), " ".join(words[1:])


def runner_of(character: Any) -> AssistantRunner:
    """Return the runner of a character. Raises CommandRefused when it does not run, ServiceNotRunning."""
    server.service()
    runner = server.runner_of(character)
    if runner is None:
        raise CommandRefused(f"{character.key} is not running. Start it with: assistant/start {character.key}")
    return runner


def awake_assistant(character: Any) -> Assistant:
    """Return the awake assistant of a character. Raises CommandRefused with the reason when it is not awake."""
    runner = runner_of(character)
    if runner.assistant is None:
        why = f": {runner.trouble}" if runner.trouble else ""
        raise CommandRefused(
            f"{character.key} is not awake yet ({runner.state}{why}). See: assistant/status {character.key}"
        )
    return runner.assistant


def confirmed(text: str | None) -> tuple[bool, bool]:
    """Return whether the owner is sure, and whether memory is deleted as well."""
    words = (text or "").casefold().replace(",", " ").split()
    return words[:1] == [_YES], words == [_YES, _FORGET]
