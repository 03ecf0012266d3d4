"""Tells other processes, which use the same keys, when a server asks for a wait, and heeds what they tell.

A notice may be lost: then each process finds out by itself.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from urllib.parse import urlsplit

from mud_assistant.assistant.http_server.addresses import is_loopback
from mud_assistant.assistant.runtime.storage import Notices
from mud_assistant.resilience.pipeline import Pipeline, Standstill

#: Begins the notice of a server that is to be left alone.
COOLDOWN = "cooldown "
#: Shorter waits are over before others hear of them, and one that ends less than this later is no news, in seconds.
LEAST_SECONDS = 1.0


class SharedStandstills:
    """What this process and the others tell each other. A credential is told by its short hash, never as a key."""

    def __init__(self, pipeline: Pipeline, notices: Notices) -> None:
        self._pipeline = pipeline
        self._notices = notices
        #: Tells our own notices from those of others.
        self._me = secrets.token_hex(8)
        #: Until when others know, in clock seconds, by server, credential and lane.
        self._told: dict[tuple[str, str, str], float] = {}
        pipeline.on_standstill = self._tell
        hear_too(notices, self._hear)

    def _tell(self, wait: Standstill) -> None:
        if _is_own(wait.origin):
            return
        until = self._pipeline.clock.seconds() + wait.seconds
        known = self._told.get(wait[:3], 0.0)
        if wait.seconds >= LEAST_SECONDS and until - known >= LEAST_SECONDS:
            self._told[wait[:3]] = until
            self._notices.tell(COOLDOWN + json.dumps([self._me, *wait]))

    def _hear(self, words: str) -> None:
        """Heed a notice. One of another version, which cannot be read, is left."""
        if not words.startswith(COOLDOWN):
            return
        try:
            sender, origin, credential, lane, seconds, is_circuit = json.loads(words.removeprefix(COOLDOWN))
            wait = Standstill(str(origin), str(credential), str(lane), float(seconds), is_circuit=bool(is_circuit))
        except (ValueError, TypeError):
            return
        if sender != self._me and wait.seconds > 0 and not _is_own(wait.origin):  # never a NaN
            self._pipeline.heed(wait)


def hear_too(notices: Notices, hear: Callable[[str], None]) -> None:
    """Have `hear` told of each notice, after those who are told already."""
    others = notices.on_notice

    def told(words: str) -> None:
        others(words)
        hear(words)

    notices.on_notice = told


def _is_own(origin: str) -> bool:
    """Tell whether a server is this machine's own: on another machine the same address is another server."""
    return is_loopback(urlsplit(origin).hostname or "")
