"""The results of tool calls: the text for the model, what the loop needs to know beside it, and the log of effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from mud_assistant.llm.messages import ToolCall, ToolResult
from mud_assistant.tools.errors import Status
from mud_assistant.tools.tool import Category


class Begun(Struct, frozen=True):
    """A call that was about to run when its process died: it is not known whether it happened."""


class Executed(Struct, frozen=True):
    """One answered call. `category` is None when no such tool exists; `seconds` is how long it ran.

    `authority` is the level of the result's text (`tools/trust.py`); 0, the lowest, for records without a level.
    `sources` are the ids of those whose words a memory gave back. `rule` names the rule that judged the call
    (`tools/policy/decide.py`, `Rule`); it is empty where none did, and in older records.
    """

    call: ToolCall
    result: ToolResult
    status: Status
    category: Category | None
    seconds: float
    authority: int = 0
    sources: tuple[str, ...] = ()
    rule: str = ""


#: What an earlier process did of a step, by the place of the call in it.
Past = Mapping[int, Executed | Begun]
NOTHING_YET: Past = {}


class EffectLog(Protocol):
    """Is told of every call: before and after it runs, or why it did not. An error it raises stops the step.

    `index` is the call's place in the step. An intent without a done is a call whose outcome is unknown.
    """

    async def intent(self, index: int, call: ToolCall) -> None:
        """Note that the call is about to run."""
        ...

    async def done(self, index: int, executed: Executed) -> None:
        """Note that the call has run."""
        ...

    async def not_run(self, index: int, executed: Executed) -> None:
        """Note that the call was judged and does not run: its `rule` says which rule forbids it."""
        ...
