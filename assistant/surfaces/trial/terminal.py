"""The prompt of a trial at a real terminal: editing, history, answers above it, a sign while the assistant thinks.

Tab completes the commands, and the names of the people and things in the room. prompt_toolkit runs on asyncio, so at a
terminal the trial runs on Twisted's asyncio reactor.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from types import FrameType

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mud_assistant.assistant.surfaces.trial.commands import WITH_ARGUMENTS, WORDS
from mud_assistant.assistant.surfaces.trial.wrapping import wrapped
from mud_assistant.tools import Scene

_HINT = "a plain line is speech, /help for commands, Tab completes, Ctrl-C to leave"
_KEPT = "your line is kept; Ctrl-C again leaves without it"
#: How many characters before the cursor a name may begin.
_REACH = 60


class Terminal:
    """The prompt: both the screen and the source of lines. A test passes its own input `given` and output `shown`."""

    def __init__(self, given: Input | None = None, shown: Output | None = None) -> None:
        self._thinking = ""
        self._is_warned = False
        self._in_sight: Callable[[], Scene | None] = lambda: None
        self._prompt: PromptSession[str] = PromptSession(
            "> ",
            bottom_toolbar=self._toolbar,
            key_bindings=self._bindings(),
            erase_when_done=True,
            completer=RoomCompleter(self._seen),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            input=given,
            output=shown,
        )
        self._prompt.default_buffer.on_text_changed += self._typed
        self._patched: AbstractContextManager[None] = patch_stdout()
        self._patched.__enter__()
        self._before = signal.signal(signal.SIGINT, self._signalled)
        _go_on_reaping()

    def next(self) -> Deferred[str | None]:
        """Wait for the next line and return it, None at Ctrl-C, Ctrl-D and when the terminal goes away."""
        asked: Deferred[str | None] = Deferred.fromFuture(asyncio.ensure_future(self._ask()))
        return asked.addErrback(_cancelled)

    def close(self) -> None:
        """Give the terminal back."""
        signal.signal(signal.SIGINT, self._before)
        self._patched.__exit__(None, None, None)

    def show(self, text: str) -> None:
        """Show a piece of the transcript above the prompt, wrapped to the terminal's width."""
        print(wrapped(text, self._prompt.output.get_size().columns), flush=True)

    def remark(self, text: str) -> None:
        """Show a remark about the program above the prompt."""
        self.show(text)

    def complete_from(self, in_sight: Callable[[], Scene | None]) -> None:
        """Complete the names of what is in sight when Tab is pressed."""
        self._in_sight = in_sight

    def thinking(self, name: str | None) -> None:
        """Show the thinking sign, or clear it when `name` is None."""
        self._thinking = f"{name} is thinking ..." if name else ""
        self._prompt.app.invalidate()

    async def _ask(self) -> str | None:
        self._is_warned = False
        try:
            return await self._prompt.prompt_async(handle_sigint=False)
        except EOFError:
            return None

    def _seen(self) -> Scene | None:
        return self._in_sight()

    def _toolbar(self) -> StyleAndTextTuples:
        if self._is_warned:
            return [("bold", _KEPT)]
        return [("", self._thinking or _HINT)]

    def _typed(self, _: object) -> None:
        self._is_warned = False

    def _bindings(self) -> KeyBindings:
        """Return the binding of Ctrl-C to `_interrupt`; a KeyboardInterrupt would tear the event loop down."""
        bindings = KeyBindings()

        @bindings.add("c-c")
        def interrupt(_: KeyPressEvent) -> None:
            self._interrupt()

        return bindings

    def _interrupt(self) -> None:
        """Leave. With a half-typed line, warn first, and leave only when asked again before the line has changed."""
        app = self._prompt.app
        if self._prompt.default_buffer.text.strip() and not self._is_warned:
            self._is_warned = True
            app.invalidate()
        elif app.future is not None and not app.future.done():
            app.exit(exception=EOFError)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal of Ctrl-C like the key.

        While something is printed above the prompt, the terminal turns the key into a signal.
        """
        app = self._prompt.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(self._interrupt)
        elif callable(self._before):
            self._before(number, frame)


def _go_on_reaping() -> None:
    """Let the reactor hear of child processes that end.

    The prompt handles a signal with asyncio, which from then on takes all signals away from the reactor.
    """
    if sys.platform == "win32":
        return
    from twisted.internet.process import reapAllProcesses  # noqa: PLC0415  (not on Windows)

    with suppress(RuntimeError):  # no loop runs, so there is no prompt yet
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, reapAllProcesses)


def _cancelled(failure: Failure) -> Failure:
    """Return the failure, with asyncio's cancellation replaced by Twisted's.

    A signal that comes while the prompt is away cancels it.
    """
    return Failure(CancelledError()) if failure.check(asyncio.CancelledError) else failure


class RoomCompleter(Completer):
    """A completer for the scene that `in_sight` returns; None means that nothing is seen."""

    def __init__(self, in_sight: Callable[[], Scene | None]) -> None:
        self._in_sight = in_sight

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the text before the cursor."""
        for text, length in completed(document.text_before_cursor, self._in_sight()):
            yield Completion(text, start_position=-length)


def completed(line: str, scene: Scene | None) -> list[tuple[str, int]]:
    """Return each completion of the line, with how many of the line's last characters it replaces."""
    word, blank, rest = line.partition(" ")
    if not blank and (not line or line.startswith("/")):
        found = [f"/{name}" for name in WORDS if f"/{name}".startswith(line.lower())]
        return [(f"{name} " if name[1:] in WITH_ARGUMENTS else name, len(line)) for name in found]
    if scene is None:
        return []
    people = [person.name for person in scene.people]
    things = [thing.name for thing in scene.things]
    match word.lower():
        case "/go":
            return _beginning(rest, scene.exits)
        case "/look":
            return _beginning(rest, [*people, *things])
        case "/whisper" | "/page" if "=" not in rest:
            return _beginning(rest, [f"{name} = " for name in people]) or _ending(rest, [*people, *things])
        case _:
            return _ending(line, [*people, *things])


def _beginning(text: str, names: Iterable[str]) -> list[tuple[str, int]]:
    """Return the names that begin with the text, each with the text's length."""
    return [(name, len(text)) for name in names if name.casefold().startswith(text.casefold())]


def _ending(text: str, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the names whose beginning is at the end of the text; the longest such beginning counts."""
    starts = [at for at in range(max(0, len(text) - _REACH), len(text)) if at == 0 or not text[at - 1].isalnum()]
    for at in starts:
        if text[at].isalnum() and (found := _beginning(text[at:], names)):
            return found
    return []
