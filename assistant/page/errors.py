"""The errors of the page beyond those of operations: who visits, and how often."""

from __future__ import annotations

from assistant.service.operations.refused import OperationRefused


class Unauthenticated(OperationRefused):
    """Nobody is logged in."""

    status, title = 401, "Log in first"


class TooManyRequests(OperationRefused):
    """The visitor asks too often."""

    status, title = 429, "Too many requests"
