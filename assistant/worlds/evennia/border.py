"""Where the game's own code is called for an assistant: what fails there is logged, and read as one sentence."""

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
    """While it lasts, whatever the game raises becomes ToolFailed, and the log has it; `name` is the assistant's."""
    try:
        yield
    except (ToolError, CancelledError):
        raise
    except Exception as error:
        _log.failure("the game failed {name}", name=name)
        raise ToolFailed(FAILED) from error
