"""Goals 11 and 12: memory of an idle assistant, and of 200 in flight over bare Twisted. Each in a fresh process."""

from __future__ import annotations

from typing import Any

from benchmarks.children import Child, stub
from benchmarks.figures import Figure

#: KiB of an idle assistant with so many messages of its own, and how many assistants that is measured with.
IDLE = {20: 16.0, 500: 120.0}
MANY = 200
#: What the figure of one assistant is; that of many is the better one.
ALONE = "with what is made at first use, but only what had to be had of the system: imports leave some free"


async def figures(reactor: Any, *, full: bool) -> list[Figure]:  # noqa: ARG001  (sections are all called alike)
    """Idle assistants by their history and number, then some in flight."""
    found = []
    for messages, limit in IDLE.items():
        each, _ = await _child(reactor, "idle", MANY, messages)
        found.append(Figure("11", f"memory of an idle assistant, {messages} messages", each, "KiB", limit))
    alone, _ = await _child(reactor, "idle", 1, 20)
    crowd, _ = await _child(reactor, "idle", 2000, 20)
    found.append(Figure("", "memory of an idle assistant alone, 20 messages", alone, "KiB", note=ALONE))
    found.append(Figure("small", "one of 2,000 idle assistants, 20 messages", crowd, "KiB", 100.0))
    async with stub(reactor) as (url,):
        whole, bare = await _child(reactor, "busy", MANY, 20, f"{url}/hang/v1")
    note = f"{bare + whole:.0f} MB, bare Twisted and web client {bare:.0f} MB"
    return [*found, Figure("12", "core and 200 assistants in flight, over bare Twisted", whole, "MB", 20.0, note=note)]


async def _child(reactor: Any, *arguments: object) -> list[float]:
    child = Child(reactor, "benchmarks.memory_child", *map(str, arguments))
    told: list[float] = await child.answer()
    await child.close()
    return told
