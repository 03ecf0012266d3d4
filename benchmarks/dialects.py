"""CPU of one model call in the dialects of Anthropic and Ollama, beside bare treq with the same bytes. Only told."""

from __future__ import annotations

from typing import Any

from benchmarks.bare_treq import Bare
from benchmarks.calls import PATHS
from benchmarks.children import stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, Subject, compare
from benchmarks.product import Calls

DIALECTS = {"anthropic": "Anthropic", "ollama": "Ollama"}
KINDS = {"json": "JSON call", "stream": "streamed answer"}


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Each dialect whole and streamed, asked in its native way."""
    found = []
    async with stub(reactor) as (url,):
        for dialect, called in DIALECTS.items():
            for kind, what in KINDS.items():
                subjects: dict[str, Subject] = {
                    "product": Calls(reactor, url + PATHS[kind], kind, dialect=dialect),
                    "treq": Bare(reactor, url + PATHS[kind], kind, dialect=dialect),
                }
                rounds = await compare(subjects, ROUNDS if full else 12)
                ratios = rounds.ratios("product", "treq")
                found.append(ratio("", f"{called}: {what} / treq", ratios, note=rounds.told("product", "treq")))
    return found
