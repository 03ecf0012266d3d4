"""The clock of the writer's thread: it is never set, and goes on while the machine sleeps."""

from __future__ import annotations

import time


class ThreadClock:
    """Tells and waits for time on a thread that may block."""

    def now(self) -> float:
        """Return seconds since the machine started, counting those in which it slept, where the system tells."""
        boottime = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if boottime is None else time.clock_gettime(boottime)  # noqa: TID251  (the one place)

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""
        time.sleep(seconds)  # noqa: TID251  (this thread has nothing else to do)
