"""Goals 4, 5 and 7: CPU of a ReAct step with one tool call and two model calls, and how it grows with the history."""

from __future__ import annotations

from typing import Any

from benchmarks.bare_treq import Bare
from benchmarks.canned import TEXT
from benchmarks.children import Peer, peers, stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, Subject, compare, over
from benchmarks.peers import PEERS, present
from benchmarks.product import Steps
from mud_assistant.assistant.starting import settle_heap

#: What our step may cost at most of each framework's and SDK's. aiohttp is neither, and is only told.
LIMITS = {"pydantic-ai": 1 / 15, "openai-agents": 1.0, "langchain": 1.0, "litellm": 1.0, "openai": 1.0}
#: Rounds with the peers, and CPU seconds of their turns: one volley takes some of them longer.
PEER_ROUNDS, PEER_SECONDS = 5, 0.1
#: The messages between which growth is judged.
SHORT, LONG = 20, 1000
WHOLE, STREAMED = "/whole/call/v1", "/call/v1"


def missing() -> list[Figure]:
    """A line for each peer that is not installed: none is left out in silence."""
    there = present()
    return [
        Figure("", f"beside {name}", None, note="not installed here, skipped") for name in PEERS if name not in there
    ]


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """The step beside treq and every peer, streamed against whole, and its growth."""
    settle_heap()  # as a game does at its start
    async with stub(reactor) as (url,):
        judged = [over("product", "treq")]
        bare = await compare(_here(reactor, url), ROUNDS, judged=judged)
        found = [ratio("4", "step / treq loop", bare.ratios("product", "treq"), 0.80, note=bare.told())]
        found += await _beside(reactor, url)
        found.append(await _streamed(reactor, url))
        found += await _growth(reactor, url, (SHORT, 500, LONG, 5000) if full else (SHORT, LONG))
        if full:
            found += await _peer_growth(reactor, url)
    return found + missing()


def _here(reactor: Any, url: str) -> dict[str, Subject]:
    return {"product": Steps(reactor, url + WHOLE), "treq": Bare(reactor, url + WHOLE, "step")}


async def _beside(reactor: Any, url: str) -> list[Figure]:
    """The product's step over each peer's."""
    path, names = url + WHOLE, present()
    async with peers(reactor, names) as children:
        subjects: dict[str, Subject] = {"product": Steps(reactor, path)}
        subjects |= {name: Peer(child, "step", path) for name, child in children.items()}
        judged = [over("product", name) for name in names if name in LIMITS]
        rounds = await compare(subjects, PEER_ROUNDS, PEER_SECONDS, judged=judged)
    return [
        ratio(
            "5" if name in LIMITS else "",
            f"step: product / {name}",
            rounds.ratios("product", name),
            LIMITS.get(name),
            note=rounds.told("product", name),
        )
        for name in names
    ]


async def _streamed(reactor: Any, url: str) -> Figure:
    """The step with streamed answers over the same with whole ones."""
    subjects: dict[str, Subject] = {
        "streamed": Steps(reactor, url + STREAMED, says=TEXT),
        "whole": Steps(reactor, url + WHOLE),
    }
    rounds = await compare(subjects, PEER_ROUNDS, PEER_SECONDS)
    return ratio("", "step: streamed / whole", rounds.ratios("streamed", "whole"), note=rounds.told())


async def _growth(reactor: Any, url: str, sizes: tuple[int, ...]) -> list[Figure]:
    """The step with a long history over the step with a short one, and what treq makes of it."""
    subjects: dict[str, Subject] = {}
    for size in sizes:
        subjects[f"product {size}"] = Steps(reactor, url + WHOLE, size)
        subjects[f"treq {size}"] = Bare(reactor, url + WHOLE, "step", size)
    rounds = await compare(subjects, 10, judged=[over(f"product {LONG}", f"product {SHORT}")])
    found = []
    for who in ("product", "treq"):
        for size in sizes[1:]:
            long, short = f"{who} {size}", f"{who} {SHORT}"
            is_judged = who == "product" and size == LONG
            name = f"step of {who}: {size:,} messages / {SHORT}"
            goal, limit = ("7", 1.5) if is_judged else ("", None)
            found.append(ratio(goal, name, rounds.ratios(long, short), limit, note=rounds.told(long, short)))
    return found


async def _peer_growth(reactor: Any, url: str) -> list[Figure]:
    """The same of each peer, a process for each length. One caller, three rounds: some need seconds for a step."""
    found = []
    for name in present():
        async with peers(reactor, [name]) as first, peers(reactor, [name]) as second:
            subjects = {
                "short": Peer(first[name], "step", url + WHOLE, SHORT, 1),
                "long": Peer(second[name], "step", url + WHOLE, LONG, 1),
            }
            rounds = await compare(subjects, 3, PEER_SECONDS)
        ratios = rounds.ratios("long", "short")
        found.append(ratio("", f"step of {name}: {LONG:,} messages / {SHORT}", ratios, note=rounds.told()))
    return found
