"""What a process does at its start: it calms the garbage collector, and ends at once on Ctrl-C.

This module imports nothing of this program.

A full collection looks at every object there is. It takes 118 ms of CPU in one callback in a stock game of Evennia with
50 assistants, and 60 to 90 ms with 200 in the embedded world (docs/performance.md). A game calls `settle_heap` at its
start, and once more when all its assistants are awake. A command calls it before its reactor runs.

A run that goes well leaves nothing that only a collector can free. But what hundreds of runs hold while they wait for
their models looks permanent to Python, and triggers full collections. So full collections are made rarer: one for every
400,000 objects made and not freed. Python collects after 80,000 up to 3.12, and after 240,000 from 3.13 on. The
collections of the two younger generations come far more often instead, and each looks at little: with 200 calls in
flight they took up to 20 ms at once, since each looked at all that the calls hold, and now take 2 ms, and less in all.
The price: what only a full collection frees waits until there are 400,000 objects of it, and that is each cycle that
lives longer than it takes to make a few hundred objects.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import NoReturn

#: Exit status of a command that Ctrl-C ended before it was done, as shells count it.
INTERRUPTED = 130
#: The thresholds that Python begins with, up to 3.12 and from 3.13 on. Any others were set on purpose and are left
#: alone.
PYTHONS_OWN = frozenset({(700, 10, 10), (2000, 10, 10)})
#: The thresholds that are set: new objects until the newest generation is collected, and how many of its collections
#: come before one of the next generation.
GENTLE = (200, 1, 1000)


@contextmanager
def loading() -> Iterator[None]:
    """Suspend garbage collection while modules load, and exempt what they hold from later collections.

    Modules live as long as the process. This saves a tenth of the time a trial takes to start, and nearly all of the
    time it takes to end. Ctrl-C ends the process meanwhile: an exception in the middle of a module may be taken for
    another by who loads it.
    """
    is_usual = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    gc.disable()
    if is_usual:
        signal.signal(signal.SIGINT, end_interrupted)
    try:
        yield
    finally:
        if is_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.freeze()
        gc.enable()


def end_interrupted(*_: object) -> NoReturn:
    """End the process at once, as a shell expects it of one that was interrupted. Nothing of ours is open yet."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(INTERRUPTED)


def settle_heap() -> int:
    """Collect once, then exclude all existing objects from later collections; return how many were excluded."""
    gc.collect()
    gc.freeze()
    if gc.get_threshold() in PYTHONS_OWN:
        gc.set_threshold(*GENTLE)
    return gc.get_freeze_count()
