"""An effect log for the tests of what is done in a step: it keeps what it was told, or fails."""

from __future__ import annotations

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.result import Executed


class RecordingLog:
    """An effect log that keeps each call as ("intent" or "done", index, tool name); `fail_on` makes it raise."""

    def __init__(self, *, fail_on: str = "") -> None:
        self.lines: list[tuple[str, int, str]] = []
        #: Of each call that did not run: its index, and the rule that forbids it.
        self.rules: list[tuple[int, str]] = []
        self._fail_on = fail_on

    async def intent(self, index: int, call: ToolCall) -> None:
        """Note the intent."""
        self._note("intent", index, call.name)

    async def done(self, index: int, executed: Executed) -> None:
        """Note the done."""
        self._note("done", index, executed.call.name)

    async def not_run(self, index: int, executed: Executed) -> None:
        """Note the rule that forbids the call, apart from what ran."""
        self.rules.append((index, executed.rule))

    def _note(self, what: str, index: int, name: str) -> None:
        if what == self._fail_on:
            raise OSError(f"cannot write {what}")
        self.lines.append((what, index, name))
