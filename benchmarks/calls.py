"""Goals 1 to 3: CPU of one model call through the product's client, beside bare treq and the bare transport."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.bare_transport import Transport
from benchmarks.bare_treq import Bare
from benchmarks.children import stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, Rounds, Subject, compare, over
from benchmarks.product import Calls

#: Callers at once where events come one by one.
MANY = 50
PATHS = {"json": "/whole/plain/v1", "stream": "/v1", "drip": "/drip=5/v1"}
#: Each turn of these takes a third of a second at least, however short it is meant to be.
DRIP_ROUNDS = {True: 10, False: 5}
JUDGED = [over("product", "treq")]


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """JSON, stream and drip."""
    async with stub(reactor) as (url,):
        whole = await compare(_here(reactor, url, "json"), ROUNDS, judged=JUDGED)
        streamed = await compare(_here(reactor, url, "stream"), ROUNDS, judged=JUDGED)
        dripped = await compare(_here(reactor, url, "drip", MANY), DRIP_ROUNDS[full], judged=JUDGED)
    return [
        _judged("1", "JSON call / treq", whole, 0.60),
        _limit("JSON call: bare transport / treq", whole),
        _judged("2", "streamed answer / treq", streamed, 0.70),
        _limit("streamed answer: bare transport / treq", streamed),
        _judged("3", "the same, 5 ms between events, 50 at once / treq", dripped, 0.90),
    ]


def _here(reactor: Any, url: str, kind: str, callers: int = 8) -> Mapping[str, Subject]:
    """The subjects, which all run in this process."""
    makers: dict[str, Callable[..., Subject]] = {"product": Calls, "treq": Bare, "transport": Transport}
    if kind == "drip":
        del makers["transport"]
    return {name: maker(reactor, url + PATHS[kind], kind, callers=callers) for name, maker in makers.items()}


def _judged(goal: str, name: str, rounds: Rounds, limit: float) -> Figure:
    return ratio(goal, name, rounds.ratios("product", "treq"), limit, note=rounds.told("product", "treq"))


def _limit(name: str, rounds: Rounds) -> Figure:
    return ratio("", name, rounds.ratios("transport", "treq"), note=rounds.told("transport", "treq"))
