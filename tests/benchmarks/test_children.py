"""Child processes: lines asked and answered, and one that is gone leaves nobody waiting."""

from __future__ import annotations

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from benchmarks.children import Child, ChildFailed, stub


async def test_a_stub_tells_its_ports_and_goes_when_it_is_let_go() -> None:
    async with stub(_reactor, 2) as urls:
        assert len(set(urls)) == 2
        assert all(url.startswith("http://127.0.0.1:") for url in urls)


async def test_one_who_asks_a_child_that_ends_is_told_its_last_words() -> None:
    child = Child(_reactor, "benchmarks.peer", "nobody")
    with pytest.raises(ChildFailed, match="nobody"):
        await child.ask("[]")
    await child.gone


async def test_one_who_asks_a_child_that_has_ended_is_told_as_well() -> None:
    child = Child(_reactor, "benchmarks.peer", "nobody")
    await child.gone
    with pytest.raises(ChildFailed, match="nobody"):
        await child.ask("[]")
