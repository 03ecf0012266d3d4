"""What runs inside the Server of the measured game: how late its reactor is, and what keeps it busy longest.

`evennia_lag.py` copies this file into the game's `server/conf` and names it in SERVER_SERVICES_PLUGIN_MODULES, so it
imports nothing of ours. Every piece of work of the reactor's own thread is timed by itself, in the CPU time of that
thread: each delayed call (also those of LoopingCall), each function that another thread handed over, each read or
write of a connection. Not timed: the poll itself, and signals.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from threading import Event, Thread, get_ident
from typing import Any

EVERY_SECONDS = 0.01
#: Work of more CPU than this is kept with its name.
LONG_SECONDS = 0.02
#: What the product promises never to happen.
TOO_LONG_SECONDS = 0.05
#: With PROFILE, what runs longer than this is looked at this often.
PROFILE = Path("server/conf/lag_profile")
_LOOK_AFTER_SECONDS, _LOOK_EVERY_SECONDS = 0.025, 0.005
_FRAMES = 14


class Probe:
    """Measures between `begin` and `end`; one for a process."""

    def __init__(self, reactor: Any) -> None:
        self.reactor = reactor
        self.late: list[float] = []
        self.long: list[tuple[float, float, str]] = []
        self.total: Counter[str] = Counter()
        self.collections: list[float] = []
        self.began = (0.0, 0.0)
        self.nested = False
        #: When the work that runs now began, and the stacks it was seen with.
        self.since = 0.0
        self.stacks: Counter[str] = Counter()
        self._due = 0.0
        self._gc_began = 0.0

    def install(self) -> None:
        """Time everything from now on."""
        reactor = self.reactor
        call_later, from_thread, do = reactor.callLater, reactor.callFromThread, reactor._doReadOrWrite  # noqa: SLF001

        def timed_later(delay: float, function: Any, *args: Any, **kwargs: Any) -> Any:
            return call_later(delay, self.timed, function, _name(function), *args, **kwargs)

        def timed_from_thread(function: Any, *args: Any, **kwargs: Any) -> None:
            from_thread(self.timed, function, _name(function), *args, **kwargs)

        def timed_do(selectable: Any, fd: int, event: int) -> None:
            what = type(getattr(selectable, "protocol", None) or selectable).__name__
            self.timed(do, f"traffic of {what}", selectable, fd, event)

        reactor.callLater, reactor.callFromThread, reactor._doReadOrWrite = (  # noqa: SLF001
            timed_later, timed_from_thread, timed_do,
        )  # fmt: skip
        gc.callbacks.append(self._collected)
        self._due = time.perf_counter() + EVERY_SECONDS
        call_later(EVERY_SECONDS, self._tick)
        self._call_later = call_later
        if PROFILE.exists():
            Thread(target=self._watch, args=(get_ident(),), daemon=True).start()

    def timed(self, function: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """What the function gives; its CPU is noted."""
        if self.nested:
            return function(*args, **kwargs)
        self.nested, self.since = True, time.perf_counter()
        before = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            cpu = time.thread_time() - before
            wall = time.perf_counter() - self.since
            self.nested, self.since = False, 0.0
            self.total[name] += cpu
            if cpu > LONG_SECONDS or wall > LONG_SECONDS:
                self.long.append((cpu, wall, name))

    def begin(self) -> None:
        """Forget what was measured so far."""
        self.late.clear()
        self.long.clear()
        self.total.clear()
        self.collections.clear()
        self.stacks.clear()
        self.began = (time.perf_counter(), _cpu())

    def end(self, name: str) -> None:
        """Write down what was measured since `begin`, in the game's folder."""
        seconds, cpu = time.perf_counter() - self.began[0], _cpu() - self.began[1]
        late = sorted(self.late)
        result = {
            "seconds": seconds,
            "cpu_share": cpu / seconds,
            "lag": {str(share): late[min(len(late) - 1, int(len(late) * share))] for share in (0.5, 0.95, 0.99, 1.0)},
            "ticks": len(late),
            "long": sorted(self.long, reverse=True)[:20],
            "waits": sorted(self.long, key=lambda entry: -entry[1])[:10],
            "over_50_ms": sum(entry[0] > TOO_LONG_SECONDS for entry in self.long),
            "most": self.total.most_common(25),
            "longest_collection": max(self.collections, default=0.0),
            "stacks": self.stacks.most_common(40),
            "memory_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        }
        path = Path(f"lag-{name}.json")
        path.with_suffix(".part").write_text(json.dumps(result))
        path.with_suffix(".part").rename(path)

    def _tick(self) -> None:
        now = time.perf_counter()
        self.late.append(max(0.0, now - self._due))
        self._due = now + EVERY_SECONDS
        self._call_later(EVERY_SECONDS, self._tick)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_began = time.thread_time()
        else:
            self.collections.append(time.thread_time() - self._gc_began)

    def _watch(self, thread: int) -> None:
        """Look what runs when something runs long; in a thread of its own."""
        pause = Event()
        while True:
            pause.wait(_LOOK_EVERY_SECONDS)
            since = self.since
            if since and time.perf_counter() - since > _LOOK_AFTER_SECONDS:
                frame = sys._current_frames().get(thread)  # noqa: SLF001
                stack = traceback.extract_stack(frame)[-_FRAMES:]
                self.stacks[" < ".join(f"{Path(f.filename).stem}.{f.name}:{f.lineno}" for f in reversed(stack))] += 1


def _name(function: Any) -> str:
    """What a function is called in the report."""
    looping = getattr(function, "__self__", None)
    if type(looping).__name__ == "LoopingCall":
        return f"loop {_name(looping.f)}"
    module = getattr(function, "__module__", "") or ""
    return f"{module}.{getattr(function, '__qualname__', type(function).__name__)}"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


PROBES: list[Probe] = []


def start_plugin_services(server: Any) -> None:  # noqa: ARG001  (Evennia gives it)
    """Called by Evennia once, in the Server only."""
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (it measures the real one)

    PROBES.append(Probe(reactor))
    PROBES[0].install()
