"""A trial at a real terminal: a prompt with editing and history, answers above it, a sign while somebody thinks.

prompt_toolkit runs on asyncio, so at a terminal the trial runs on Twisted's asyncio reactor.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager

from prompt_toolkit import PromptSession
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure


class Terminal:
    """The prompt; it is the screen and the source of lines at once."""

    def __init__(self) -> None:
        self._thinking = ""
        self._prompt: PromptSession[str] = PromptSession(
            "> ",
            bottom_toolbar=self._toolbar,
            key_bindings=_leave_on_interrupt(),
            erase_when_done=True,
        )
        self._patched: AbstractContextManager[None] = patch_stdout()
        self._patched.__enter__()

    def next(self) -> Deferred[str | None]:
        """The next line, None at Ctrl-C, Ctrl-D and when the terminal goes away."""
        asked: Deferred[str | None] = Deferred.fromFuture(asyncio.ensure_future(self._ask()))
        return asked.addErrback(_cancelled)

    def close(self) -> None:
        """Give the terminal back."""
        self._patched.__exit__(None, None, None)

    def show(self, text: str) -> None:
        """A piece of the transcript, above the prompt."""
        print(text, flush=True)

    def remark(self, text: str) -> None:
        """Something about the program, above the prompt."""
        self.show(text)

    def thinking(self, name: str | None) -> None:
        """Show or clear the sign."""
        self._thinking = f"{name} is thinking ..." if name else ""
        self._prompt.app.invalidate()

    async def _ask(self) -> str | None:
        try:
            return await self._prompt.prompt_async(handle_sigint=False)
        except EOFError:
            return None

    def _toolbar(self) -> str | None:
        return self._thinking or "a plain line is speech, /help for commands, Ctrl-C to leave"


def _cancelled(failure: Failure) -> Failure:
    """The failure, a cancellation in Twisted's terms: a signal that comes while the prompt is away cancels it."""
    return Failure(CancelledError()) if failure.check(asyncio.CancelledError) else failure


def _leave_on_interrupt() -> KeyBindings:
    """Ctrl-C leaves like Ctrl-D; a KeyboardInterrupt would tear the event loop down."""
    bindings = KeyBindings()

    @bindings.add("c-c")
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError)

    return bindings
