"""What one call needs before it may happen, and a call that waits for an approval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from llm.messages import JSONObject
from tools.game import Target
from tools.trust import Principal


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one call needs: a permission, the game commands it runs (`name/switch`) and what an approver is shown.

    `covers` is what an approval of it is bound to: the place, then what the call acts on; empty until it is needed.
    `affects` looks that up for a game command (see `GameCommand`).
    """

    permission: int
    commands: tuple[str, ...] = ()
    shown: str = ""
    covers: tuple[Target, ...] = ()
    affects: Callable[[], tuple[Target, ...]] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits for approval.

    `shown` is the literal text to show to the person who decides, `permission` the level they need; `expires_at` is in
    clock seconds; `approved_by` is the person who has approved it, None while it is only asked for. `covers` is the
    place, then what the call acts on; `commands` are the game commands it runs. `because` says why it does not happen
    without an approval.
    """

    number: int
    tool: str
    arguments: JSONObject
    shown: str
    requester: Principal | None
    permission: int
    expires_at: float
    approved_by: Principal | None = None
    commands: tuple[str, ...] = field(default=(), compare=False)
    covers: tuple[Target, ...] = ()
    because: str = field(default="", compare=False)

    @property
    def requirement(self) -> Requirement:
        """The requirement that was found when the call was asked for."""
        return Requirement(self.permission, self.commands, self.shown if self.commands else "", self.covers)
