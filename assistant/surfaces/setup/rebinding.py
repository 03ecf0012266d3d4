"""Tells the journal, which remembers the old server of a key, that a key entered anew may go to a new one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from assistant.checks.journal import bindings
from assistant.config.schema import Config
from assistant.journal import JournalError, OpeningRefused, ReadOnly
from assistant.keys.binding import Voided, binding_state
from assistant.keys.reference import anchor
from assistant.models.bound_keys import BoundKeys, bindings_of
from assistant.runtime.storage import JournalFile
from resilience import DeadlineExceeded
from resilience.background import in_daemon_thread

_SECONDS = 60.0


# Any: the reactor as clock and as what other threads call into.
async def rebind(
    reactor: Any, wall: Callable[[], float], folder: Path, config: Config, entered: Collection[str]
) -> None:
    """Let the keys of these references go to the servers of the present settings.

    Leaves a journal that cannot be used as it is.
    """
    path = folder / config.journal.file
    wanted = bindings_of(config, folder)
    entered = {anchor(reference, folder) for reference in entered}
    if not config.journal.file or not entered:
        return
    try:
        known = await in_daemon_thread(reactor, _SECONDS, partial(bindings, path, wall()))
    except DeadlineExceeded:  # the doctor will report it
        return
    states = [binding_state(each.reference, each.origin, known) for each in wanted if each.reference in entered]
    if not any(isinstance(state, Voided) for state in states):
        return
    journal = JournalFile(path, reactor, wall, config.journal)
    try:
        if isinstance(await journal.open(), OpeningRefused | ReadOnly):
            return
        keys = BoundKeys(await journal.bindings.load())
        keys.admit(wanted, entered)
        await journal.bindings.remember(keys.remembered)
    except JournalError:  # the doctor will report this too
        return
    finally:
        await journal.close()
