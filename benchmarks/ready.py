"""One assistant of a local model over plain HTTP, made ready in a process that has nothing else in it."""

from __future__ import annotations

from twisted.internet import reactor  # noqa: TID251  (composition root)
from twisted.internet.defer import Deferred

from benchmarks.village import ENDLESS, House, Tenant, Village


def one_assistant() -> House:
    """An assistant that was started, in the embedded world, with its settings checked and its tools described."""
    village = Village(reactor, 1)
    made: list[House] = []
    Deferred.fromCoroutine(village.settle(0, Tenant("http://127.0.0.1:9/v1", ENDLESS))).addCallback(made.append)
    return made[0]
