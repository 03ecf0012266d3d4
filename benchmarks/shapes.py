"""Calls on answers of other shapes than the usual ones, beside bare treq on the same bytes. Only told, not judged.

What is tuned to one answer shows here: few events and many, large and small, headers, framings.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bare_treq import Bare
from benchmarks.canned_shapes import SHAPES, shape_of
from benchmarks.children import stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, Subject, compare
from benchmarks.product import Calls
from mud_assistant.assistant.starting import settle_heap

#: What is different about each.
ABOUT = {
    "tiny": "a JSON answer of 300 bytes",
    "one_event": "a stream of one event",
    "burst": "300 events in one write",
    "event_by_event": "each event in a read of its own",
    "fragments": "a call in fragments of 3 bytes",
    "long": "a text in events of 64 KiB",
    "headers": "a JSON answer with 99 headers",
    "extensions": "a stream in chunks with extensions",
    "length": "a JSON answer with its length",
    "chunked": "a JSON answer in chunks",
    "close": "a JSON answer that ends with its connection",
    "close_stream": "a stream that ends with its connection",
}
#: A turn of what comes event by event takes a tenth of a second at least, however short it is meant to be.
DRIPPED_ROUNDS = {True: 10, False: 5}


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Each shape in turn."""
    settle_heap()
    async with stub(reactor) as (url,):
        return [await measured(reactor, url, name, full=full) for name in SHAPES]


async def measured(reactor: Any, url: str, name: str, *, full: bool, seconds: float | None = None) -> Figure:
    """The product's CPU over treq's for one shape."""
    shape = shape_of(name)
    rounds = DRIPPED_ROUNDS[full] if shape.drips else ROUNDS if full else 10
    kind, path = "stream" if shape.streamed else "json", f"{url}/shape/{name}/v1"
    subjects: dict[str, Subject] = {
        "product": Calls(reactor, path, kind, says=shape.says),
        "treq": Bare(reactor, path, kind, says=shape.says),
    }
    found = await (compare(subjects, rounds) if seconds is None else compare(subjects, 2, seconds))
    return ratio("", f"{ABOUT[name]}: call / treq", found.ratios("product", "treq"), note=found.told())
