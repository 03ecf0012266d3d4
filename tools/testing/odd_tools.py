"""Makes tools for tests: without arguments, crashing, and waiting until the test answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.tool import Arguments, Category, NoArguments, Tool


def simple_tool(
    name: str,
    execute: Callable[[NoArguments, ToolContext], Awaitable[str]],
    category: Category = Category.SAFE_CHAIN,
    timeout_seconds: float = 10.0,
) -> Tool:
    """Return a tool without arguments around a function."""
    return Tool(name, f"The tool {name}.", NoArguments, category, execute, timeout_seconds)


def crashing_tool(name: str, error: Exception, category: Category = Category.SAFE_CHAIN) -> Tool:
    """Return a tool that raises `error`."""

    async def crash(_: Arguments, __: ToolContext) -> str:
        raise error

    return simple_tool(name, crash, category)


class WaitingTool:
    """A tool whose calls wait until the test answers them; a call that is never answered stalls.

    `waiting` holds the running calls, oldest first; `most` is how many ever ran at once; `cancelled` counts.
    """

    def __init__(self, name: str, category: Category = Category.SAFE_CHAIN, timeout_seconds: float = 10.0) -> None:
        self.waiting: list[Deferred[str]] = []
        self.started = 0
        self.most = 0
        self.cancelled = 0
        self.tool = simple_tool(name, self._execute, category, timeout_seconds)

    def answer(self, text: str = "answered") -> None:
        """Let the oldest waiting call return `text`."""
        self.waiting.pop(0).callback(text)

    def _execute(self, _: NoArguments, __: ToolContext) -> Deferred[str]:
        call: Deferred[str] = Deferred(self._cancelled)
        self.waiting.append(call)
        self.started += 1
        self.most = max(self.most, len(self.waiting))
        return call

    def _cancelled(self, call: Deferred[str]) -> None:
        self.waiting.remove(call)
        self.cancelled += 1
