"""Lets Ctrl-C end a command without a traceback while its modules load. Importing this is what does it.

Only the command itself imports it, before all else of ours: a game has a hook of its own.
"""

from __future__ import annotations

import sys
from types import TracebackType

_before = sys.excepthook


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End the process when Ctrl-C is why it ends, and show any other error as usual."""
    if issubclass(kind, KeyboardInterrupt):
        from mud_assistant.assistant.starting import end_interrupted  # noqa: PLC0415  (nothing may take time before the hook is set)

        end_interrupted()
    _before(kind, error, trace)


sys.excepthook = _end
