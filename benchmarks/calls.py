"""Goals 1 to 3: CPU of one model call through the product's client, beside its peers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.bare_transport import Transport
from benchmarks.bare_treq import Bare
from benchmarks.children import Child, stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, TURN_SECONDS, Rounds, Subject, compare
from benchmarks.peer_work import MODULES
from benchmarks.product import Calls

#: Callers at once where events come one by one.
MANY = 50
PATHS = {"json": "/whole/plain/v1", "stream": "/v1", "drip": "/drip=5/v1"}
#: Rounds with the peers, and CPU seconds of their turns: one volley takes some of them longer.
PEER_ROUNDS, PEER_SECONDS = 5, 0.1


def present() -> list[str]:
    """The peers that are installed."""
    return [name for name, module in MODULES.items() if importlib.util.find_spec(module) is not None]


def missing() -> list[Figure]:
    """A line for each peer that is not: none is left out in silence."""
    there = present()
    return [
        Figure("", f"beside {name}", None, note="not installed here, skipped") for name in MODULES if name not in there
    ]


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """JSON, stream and drip beside treq and the bare transport; in the full set JSON and stream beside every peer."""
    rounds = ROUNDS if full else 12
    async with stub(reactor) as (url,):
        whole = await compare(_here(reactor, url, "json"), rounds)
        streamed = await compare(_here(reactor, url, "stream"), rounds)
        dripped = await compare(_here(reactor, url, "drip", MANY), 8 if full else 3, TURN_SECONDS)
        found = [
            _judged("1", "JSON call / treq", whole, 0.60),
            _told("JSON call: bare transport / treq", whole, "transport", "treq"),
            _judged("2", "streamed answer / treq", streamed, 0.70),
            _told("streamed answer: bare transport / treq", streamed, "transport", "treq"),
            _judged("3", "the same, 5 ms between events, 50 at once / treq", dripped, 0.90),
        ]
        for kind, what in (("json", "JSON call"), ("stream", "streamed answer")) if full else ():
            beside = await compare(_beside(reactor, url, kind), PEER_ROUNDS, PEER_SECONDS)
            found += [_told(f"{what}: product / {name}", beside, "product", name) for name in present()]
    return found + missing()


def _here(reactor: Any, url: str, kind: str, callers: int = 8) -> Mapping[str, Subject]:
    """The subjects that run in this process."""
    makers: dict[str, Callable[..., Subject]] = {"product": Calls, "treq": Bare, "transport": Transport}
    if kind == "drip":
        del makers["transport"]
    return {name: maker(reactor, url + PATHS[kind], kind, callers=callers) for name, maker in makers.items()}


def _beside(reactor: Any, url: str, kind: str) -> Mapping[str, Subject]:
    """The product and every peer."""
    path = url + PATHS[kind]
    peers = {name: Child(reactor, "benchmarks.peer", name, kind, path, "20", "8") for name in present()}
    return {"product": Calls(reactor, path, kind), **peers}


def _judged(goal: str, name: str, rounds: Rounds, limit: float) -> Figure:
    return ratio(goal, name, rounds.ratios("product", "treq"), limit, note=_each(rounds, "product", "treq"))


def _told(name: str, rounds: Rounds, mine: str, theirs: str) -> Figure:
    return ratio("", name, rounds.ratios(mine, theirs), note=_each(rounds, mine, theirs))


def _each(rounds: Rounds, *names: str) -> str:
    return ", ".join(f"{name} {rounds.middle(name):.3g} ms" for name in names)
