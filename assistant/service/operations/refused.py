"""Why an operation was not done: each error has a status of HTTP, and a message that is a sentence without keys."""

from __future__ import annotations


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
