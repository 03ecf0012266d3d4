"""Which process gives which assistant to which other, and for whom a lease is kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.journal import HeldElsewhere
from mud_assistant.assistant.journal.postgres.sharing.placement import (
    MOST_GIFTS,
    Gift,
    ProcessLoad,
    choose_gift,
    choose_gifts,
    read_loads,
    reserve_gifts,
    write_wanted,
)
from mud_assistant.assistant.journal.postgres.sharing.watch import LookFor, look
from tests.assistant.journal.postgres.neighbours import living
from tests.assistant.journal.postgres.outage import opened

EVERY = frozenset({"sage", "anna", "ben"})


def load(id_: str, runs: int, waits_for: frozenset[str] = EVERY) -> ProcessLoad:
    return ProcessLoad(id_, id_.upper(), waits_for, runs)


def test_one_with_two_more_gives_its_best_to_who_has_fewest() -> None:
    loads = [load("a", 4), load("b", 2), load("c", 1)]
    assert choose_gift(loads, "a", ["ben", "sage"]) == Gift("ben", "C")


def test_one_more_is_no_reason_to_move() -> None:
    assert choose_gift([load("a", 2), load("b", 1)], "a", ["sage"]) is None


def test_only_who_waits_for_an_assistant_gets_it() -> None:
    loads = [load("a", 4), load("b", 0, frozenset()), load("c", 0, frozenset({"anna"}))]
    assert choose_gift(loads, "a", ["sage", "anna"]) == Gift("anna", "C")
    assert choose_gift(loads, "a", ["sage"]) is None
    assert choose_gift(loads, "x", ["sage"]) is None  # it does not live, as far as the database knows


def test_many_go_at_once_until_all_have_about_as_many_and_not_more_than_a_receiver_can_begin() -> None:
    mine = [f"a{number}" for number in range(200)]
    gifts = choose_gifts(
        [load("a", 200, frozenset()), load("b", 3, frozenset(mine)), load("c", 0, frozenset(mine))], "a", mine
    )
    assert len(gifts) == len({gift.assistant for gift in gifts}) == MOST_GIFTS
    few = choose_gifts(
        [load("a", 8, frozenset()), load("b", 3, frozenset(mine)), load("c", 0, frozenset(mine))], "a", mine
    )
    assert [gift.to for gift in few] == ["C", "C", "C", "B"][: len(few)]
    assert len(few) == 4
    assert choose_gifts([load("a", 1), load("b", 0)], "a", ["sage"]) == []


@given(st.lists(st.integers(0, 30), min_size=2, max_size=6))
def test_giving_ends_with_all_about_equal_and_never_goes_to_and_fro(numbers: list[int]) -> None:
    runs = {f"p{number}": [f"{number}.{one}" for one in range(count)] for number, count in enumerate(numbers)}
    every = frozenset(one for own in runs.values() for one in own)
    moved: set[tuple[str, str]] = set()
    for _ in range(sum(numbers) + 1):
        loads = [ProcessLoad(id_, id_, every - set(own), len(own)) for id_, own in runs.items()]
        gifts = {id_: gift for id_, own in runs.items() if (gift := choose_gift(loads, id_, own)) is not None}
        if not gifts:
            break
        giver, gift = next(iter(gifts.items()))
        assert (gift.assistant, gift.to) not in moved
        moved.add((gift.assistant, gift.to))
        runs[giver].remove(gift.assistant)
        runs[gift.to].append(gift.assistant)
    counts = [len(own) for own in runs.values()]
    assert max(counts) - min(counts) <= 1


async def test_a_lease_is_kept_for_whom_it_is_meant_as_long_as_they_live(postgres_url: str, reactor: Any) -> None:
    async with (
        living(postgres_url, reactor, "a") as a,
        living(postgres_url, reactor, "b") as b,
        opened(postgres_url, reactor, name="c") as c,
    ):
        for one in ("sage", "anna"):
            await a.write(partial(a.take_lease, assistant=one))
        await b.write(partial(write_wanted, process_id=b.process.id, wanted={"sage", "anna"}))
        assert {one.name: one.runs for one in await a.read(read_loads)} == {"a": 2, "b": 0}
        gifts = await a.write(partial(reserve_gifts, leases=a.leases, mine=["sage"]))
        assert gifts == [Gift("sage", "b")]
        assert {one.name: one.runs for one in await a.read(read_loads)} == {"a": 1, "b": 1}
        await a.write(lambda db: a.leases.release(db, "sage", "b"))
        for other in (a, c):
            with pytest.raises(HeldElsewhere, match="run by b"):
                await other.write(partial(other.take_lease, assistant="sage"))
            seen = await other.read(partial(look, wish=LookFor(other.process, ["sage"])))
            assert seen.free == []
        assert (await b.read(partial(look, wish=LookFor(b.process, ["sage"])))).free == ["sage"]
        await b.write(lambda db: b.take_lease(db, "sage"))
        await b.write(lambda db: b.leases.release(db, "sage"))
        await c.write(lambda db: c.take_lease(db, "sage"))


async def test_a_lease_meant_for_one_that_is_gone_is_free_for_all(postgres_url: str, reactor: Any) -> None:
    async with living(postgres_url, reactor, "a") as a, opened(postgres_url, reactor, name="gone"):
        await a.write(lambda db: a.take_lease(db, "sage"))
        await a.write(lambda db: a.leases.release(db, "sage", "gone"))
        async with opened(postgres_url, reactor, name="c") as c:
            assert (await c.read(partial(look, wish=LookFor(c.process, ["sage"])))).free == ["sage"]
            assert await c.write(lambda db: c.take_lease(db, "sage")) == 2
