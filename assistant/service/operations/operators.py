"""Who does something to assistants, what their role allows, and why something is refused.

What is done is logged with who did it. A refusal has a status of HTTP, and a message that is a sentence without keys.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from twisted.logger import Logger

from mud_assistant.tools import Principal

_log = Logger()


class OperationRefused(Exception):
    """An operation could not be done. `status` is that of HTTP, the message a sentence without keys."""

    status = 500
    title = "The operation failed"


class NotAllowed(OperationRefused):
    """Whoever asks may not do this."""

    status, title = 403, "Not allowed"


class NotFound(OperationRefused):
    """There is nothing of this name."""

    status, title = 404, "Not found"


class Conflict(OperationRefused):
    """It was decided or changed by somebody else in the meantime."""

    status, title = 409, "Already decided"


class InvalidInput(OperationRefused):
    """What was sent cannot be used; the message says what may be sent."""

    status, title = 422, "Not valid"


class Unavailable(OperationRefused):
    """The journal or the service cannot be used now."""

    status, title = 503, "Not available"


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
