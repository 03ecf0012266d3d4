"""Who does something to assistants, and what their role allows. What is done is logged with who did it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from twisted.logger import Logger

from assistant.service.operations.refused import NotAllowed
from tools import Principal

_log = Logger()


class VisitorRole(StrEnum):
    """What somebody may do: each role may do what those before it may.

    A viewer reads no words of players. An operator reads them, stops, starts and decides on approvals. An owner changes
    settings and deletes.
    """

    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"

    def may(self, needed: VisitorRole) -> bool:
        """Tell whether this role may do what needs `needed`."""
        order = list(VisitorRole)
        return order.index(self) >= order.index(needed)


class Operator(Struct, frozen=True):
    """Who does something. The permission of `principal` decides what they may allow an assistant to do."""

    principal: Principal
    role: VisitorRole

    @property
    def name(self) -> str:
        """Their name."""
        return self.principal.name

    def check(self, needed: VisitorRole) -> None:
        """Raise NotAllowed unless they may do what needs this role."""
        if not self.role.may(needed):
            raise NotAllowed(
                f"only an {needed} may do this" if needed is not VisitorRole.VIEWER else "you may not see this"
            )

    def log(self, what: str) -> None:
        """Log what they do, in words that follow their name."""
        _log.info("{who} ({id}): {what}", log_event="operator", who=self.name, id=self.principal.id, what=what)
