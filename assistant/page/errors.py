"""The errors of the page: each has a status of HTTP, and a message that is a sentence without keys."""

from __future__ import annotations


class PageError(Exception):
    """An operation could not be done. `status` is that of HTTP, the message a sentence without keys."""

    status = 500
    title = "The operation failed"


class Unauthenticated(PageError):
    """Nobody is logged in."""

    status, title = 401, "Log in first"


class NotAllowed(PageError):
    """The visitor may not do this."""

    status, title = 403, "Not allowed"


class NotFound(PageError):
    """There is nothing of this name."""

    status, title = 404, "Not found"


class Conflict(PageError):
    """It was decided or changed by somebody else in the meantime."""

    status, title = 409, "Already decided"


class InvalidInput(PageError):
    """What was sent cannot be used; the message says what may be sent."""

    status, title = 422, "Not valid"


class TooManyRequests(PageError):
    """The visitor asks too often."""

    status, title = 429, "Too many requests"


class Unavailable(PageError):
    """The journal or the service cannot be used now."""

    status, title = 503, "Not available"
