"""Messages for assistants of other processes: who finds them, how many there may be, and that a look finds each."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from mud_assistant.assistant.journal import InboxFullError
from mud_assistant.assistant.journal.postgres.sharing.messages import MAX_WAITING, LeftMessage, post, remove
from mud_assistant.assistant.journal.postgres.sharing.watch import LookFor, look
from tests.assistant.journal.postgres.outage import opened


async def test_only_who_runs_an_assistant_finds_its_messages_in_order_until_they_are_removed(
    postgres_url: str, reactor: Any
) -> None:
    left = [LeftMessage("sage", f"message.{id_}", b"\0one") for id_ in ("b", "a", "c")]
    async with opened(postgres_url, reactor, name="a") as a, opened(postgres_url, reactor, name="b") as b:
        for message in left:
            await b.write(partial(post, message=message))
        here, there = partial(look, wish=LookFor(a.process)), partial(look, wish=LookFor(b.process, ["sage"]))
        assert (await a.read(here)).messages == []
        await a.write(lambda db: a.take_lease(db, "sage"))
        assert (await a.read(here)).messages == left
        assert (await b.read(there)).messages == []
        assert (await a.read(partial(look, wish=LookFor(a.process, with_messages=False)))).messages == []
        await a.write(partial(remove, ids=["message.b", "message.a"]))
        assert (await a.read(here)).messages == left[2:]
        await a.write(lambda db: a.leases.release(db, "sage"))
        assert await a.read(here) == ([], [], [], None)
        assert await b.read(there) == (["sage"], [], [], None)


async def test_a_full_box_takes_no_more_for_this_assistant(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        fill = "INSERT INTO messages (assistant, id, payload) SELECT 'sage', n::text, '' FROM generate_series(1, ?) n"
        await store.write(lambda db: db.execute(fill, (MAX_WAITING,)).rowcount)
        with pytest.raises(InboxFullError):
            await store.write(partial(post, message=LeftMessage("sage", "message.x", b"")))
        await store.write(partial(post, message=LeftMessage("anna", "message.x", b"")))
