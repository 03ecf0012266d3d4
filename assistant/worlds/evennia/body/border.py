"""The border to the game's own code: its failures are logged, and become one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from tools.errors import ToolError, ToolFailed

FAILED = "The game failed at that."

_log = Logger()


@contextmanager
def border(name: str) -> Iterator[None]:
    """Log whatever the game raises in this context, and raise ToolFailed instead. `name` is the assistant's."""
    try:
        yield
    except (ToolError, CancelledError):
        raise
    except Exception as error:
        _log.failure("the game failed {name}", name=name)
        raise ToolFailed(FAILED) from error
