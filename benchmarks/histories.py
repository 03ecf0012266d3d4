"""Own CPU of a model call and of a ReAct step, whole and streamed, at 20, 500 and 5,000 messages, beside every peer.

Only told; what is judged of it is in `calls.py` and `steps.py`. What is shown is the product's CPU over the peer's.
Lengths are not set against each other: there are fewer callers at once with a long history. `steps.py` does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.bare_treq import Bare
from benchmarks.calls import PATHS
from benchmarks.canned import ANSWER, TEXT
from benchmarks.children import Child, Peer, peers, stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import Subject, compare
from benchmarks.peers import present
from benchmarks.product import Calls, Steps
from benchmarks.steps import PEER_SECONDS, STREAMED, WHOLE, missing
from mud_assistant.assistant.starting import settle_heap

#: Callers at once and rounds, by messages: at 5,000 some peers need seconds for one step.
SIZES = {20: (8, 5), 500: (2, 4), 5000: (1, 3)}
KINDS = {"json": "call", "stream": "call, streamed", "step": "step", "step-stream": "step, streamed"}
URLS = {"json": PATHS["json"], "stream": PATHS["stream"], "step": WHOLE, "step-stream": STREAMED}


async def figures(reactor: Any, *, full: bool) -> list[Figure]:  # noqa: ARG001  (sections are all called alike)
    """All of them, a peer in one process from beginning to end."""
    found = []
    settle_heap()  # as a game does at its start
    async with stub(reactor) as (url,), peers(reactor, present()) as children:
        for kind in KINDS:
            for count in SIZES:
                found += await _compared(reactor, kind, url + URLS[kind], count, children)
    return found + missing()


async def _compared(reactor: Any, kind: str, url: str, count: int, children: Mapping[str, Child]) -> list[Figure]:
    callers, rounds = SIZES[count]
    subjects: dict[str, Subject] = {
        "product": _product(reactor, kind, url, count, callers),
        "treq": Bare(reactor, url, kind, count, callers),
    }
    subjects |= {name: Peer(child, kind, url, count, callers) for name, child in children.items()}
    measured = await compare(subjects, rounds, PEER_SECONDS)
    name = f"{KINDS[kind]}, {count:,} messages: product /"
    others = list(subjects)[1:]
    return [
        ratio("", f"{name} {other}", measured.ratios("product", other), note=measured.told("product", other))
        for other in others
    ]


def _product(reactor: Any, kind: str, url: str, count: int, callers: int) -> Subject:
    if kind.startswith("step"):
        return Steps(reactor, url, count, callers, says=TEXT if kind == "step-stream" else ANSWER)
    return Calls(reactor, url, kind, count, callers)
