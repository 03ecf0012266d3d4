"""Goals 4, 5 and 7: CPU of a ReAct step with one tool call and two model calls, and how it grows with the history."""

from __future__ import annotations

from typing import Any

from benchmarks.bare_treq import Bare
from benchmarks.calls import PEER_ROUNDS, PEER_SECONDS, missing, present
from benchmarks.canned import TEXT
from benchmarks.children import Child, stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, Rounds, Subject, compare
from benchmarks.product import Steps

#: What a framework's step may cost at most in ours; the others have only to be above it.
PYDANTIC_AI = 1 / 15
WHOLE, STREAMED = "/whole/call/v1", "/call/v1"


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """The step beside treq and every peer, whole and streamed, and its growth."""
    rounds = ROUNDS if full else 10
    async with stub(reactor) as (url,):
        bare = await compare(_here(reactor, url), rounds)
        found = [ratio("4", "step / treq loop", bare.ratios("product", "treq"), 0.80, note=_each(bare))]
        found += await _beside(reactor, url, PEER_ROUNDS if full else 3)
        found.append(await _streamed(reactor, url))
        found += await _growth(reactor, url, full=full)
    return found + missing()


def _here(reactor: Any, url: str) -> dict[str, Subject]:
    return {"product": Steps(reactor, url + WHOLE), "treq": Bare(reactor, url + WHOLE, "step")}


async def _beside(reactor: Any, url: str, turns: int) -> list[Figure]:
    """The product's step over each peer's. aiohttp is no framework: it is beaten in the second stage, and only told."""
    path, names = url + WHOLE, present()
    peers = {name: Child(reactor, "benchmarks.peer", name, "step", path, "20", "8") for name in names}
    rounds = await compare({"product": Steps(reactor, path), **peers}, turns, PEER_SECONDS)
    limits = {"pydantic-ai": PYDANTIC_AI, "openai": 1.0, "litellm": 1.0}
    return [
        ratio(
            "5" if name in limits else "",
            f"step: product / {name}",
            rounds.ratios("product", name),
            limits.get(name),
            note=f"product {rounds.middle('product'):.3g} ms, {name} {rounds.middle(name):.3g} ms",
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
    return ratio("", "step: streamed / whole", rounds.ratios("streamed", "whole"), note=_each(rounds))


async def _growth(reactor: Any, url: str, *, full: bool) -> list[Figure]:
    """The step with a long history over the step with a short one, and what treq and the peers make of it."""
    sizes = (20, 500, 1000, 5000) if full else (20, 1000)
    subjects: dict[str, Subject] = {}
    for size in sizes:
        subjects[f"product {size}"] = Steps(reactor, url + WHOLE, size)
        subjects[f"treq {size}"] = Bare(reactor, url + WHOLE, "step", size)
    rounds = await compare(subjects, 10 if full else 4)
    found = []
    for who, limit in (("product", 1.5), ("treq", None)):
        for size in sizes[1:]:
            ratios = rounds.ratios(f"{who} {size}", f"{who} 20")
            note = f"{rounds.middle(f'{who} {size}'):.3g} ms against {rounds.middle(f'{who} 20'):.3g} ms"
            goal = "7" if limit and size == 1000 else ""  # noqa: PLR2004
            found.append(
                ratio(goal, f"step of {who}: {size:,} messages / 20", ratios, limit if goal else None, note=note)
            )
    if full:
        found += [await _peer_growth(reactor, url, name) for name in present()]
    return found


async def _peer_growth(reactor: Any, url: str, name: str) -> Figure:
    """One peer's growth. One caller and two rounds: some take seconds for one step."""
    subjects: dict[str, Subject] = {
        str(size): Child(reactor, "benchmarks.peer", name, "step", url + WHOLE, str(size), "1") for size in (20, 1000)
    }
    rounds = await compare(subjects, 2, PEER_SECONDS)
    note = f"{rounds.middle('1000'):.3g} ms against {rounds.middle('20'):.3g} ms"
    return ratio("", f"step of {name}: 1,000 messages / 20", rounds.ratios("1000", "20"), note=note)


def _each(rounds: Rounds) -> str:
    return ", ".join(f"{name} {rounds.middle(name):.3g} ms" for name in rounds.each)
