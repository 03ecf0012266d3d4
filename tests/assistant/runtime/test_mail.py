"""Messages that others left, handed to the inbox: once, whoever dies when, and none is lost."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace
from twisted.logger import capturedLogs

from mud_assistant.assistant.events.events import Event, Paged
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.postgres.sharing.messages import MAX_MESSAGES, LeftMessage, post
from mud_assistant.assistant.journal.postgres.sharing.watch import LookFor, look
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.assistant.runtime.sharing.mail import Mail
from tests.assistant.journal.keeping import TRIGGER
from tests.assistant.journal.postgres.outage import opened
from tests.assistant.living import ANN
from tests.virtual import turn

HELLO = Paged(id="message.1", at=0.0, who=ANN, text="Hello.")
LEFT = LeftMessage("sage", HELLO.id, EVENT.encode(HELLO))


async def left(store: PostgresStore) -> list[LeftMessage]:
    return (await store.read(lambda db: look(db, LookFor(store.process)))).messages


async def at_rest(store: PostgresStore) -> None:
    for _ in range(6):
        await store.read(lambda _: None)
        await turn()


async def test_a_message_that_was_taken_in_before_a_kill_is_not_taken_in_again(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        await store.write(lambda db: post(db, LEFT))
        killed = StoredJournal(store, "sage")
        await killed.start()
        await killed.accept(HELLO, TRIGGER)  # and then it was killed, before the message was deleted
        journal = StoredJournal(store, "sage")
        await journal.start()

        async def hear(assistant: str, event: Event) -> bool:
            await journal.accept(replace(event, at=5.0), TRIGGER)
            return assistant == "sage"

        mail = Mail(store, hear)
        mail.deliver(await left(store))
        await at_rest(store)
        assert await left(store) == []
        assert [accepted.event.id for accepted in await journal.pending()] == [HELLO.id]
        await mail.stop()


async def test_a_message_that_is_not_taken_in_now_stays(postgres_url: str, reactor: Any) -> None:
    heard: list[str] = []
    async with opened(postgres_url, reactor) as store:
        await StoredJournal(store, "sage").start()
        await store.write(lambda db: post(db, LEFT))

        async def hear(_: str, event: Event) -> bool:
            heard.append(event.id)
            await store.read(lambda _: None)
            return len(heard) == 2

        mail = Mail(store, hear)
        for there in (1, 0):
            found = await left(store)
            mail.deliver(found)
            mail.deliver(found)  # it is on its way
            await at_rest(store)
            assert len(await left(store)) == there
        assert heard == [HELLO.id, HELLO.id]
        await mail.stop()


async def test_a_message_that_cannot_be_read_is_logged_and_dropped(postgres_url: str, reactor: Any) -> None:
    async def hear(_: str, __: Event) -> bool:
        raise AssertionError

    async with opened(postgres_url, reactor) as store:
        await StoredJournal(store, "sage").start()
        await store.write(lambda db: post(db, LEFT._replace(record=b"nonsense")))
        mail = Mail(store, hear)
        with capturedLogs() as logged:
            mail.deliver(await left(store))
            await at_rest(store)
        assert await left(store) == []
        assert len([line for line in logged if "is lost" in line["log_format"]]) == 1
        await mail.stop()


async def test_more_is_looked_for_at_once_behind_as_many_as_one_look_returns(postgres_url: str, reactor: Any) -> None:
    looks: list[int] = []
    is_deaf = True

    async def hear(_: str, __: Event) -> bool:
        return not is_deaf

    async with opened(postgres_url, reactor) as store:
        await StoredJournal(store, "sage").start()
        for number in range(MAX_MESSAGES + 1):
            await store.write(partial(post, message=LEFT._replace(id=f"message.{number}")))
        mail = Mail(store, hear, lambda: looks.append(len(looks)))
        mail.deliver(await left(store))
        await at_rest(store)
        assert looks == []  # nothing was taken in, and so the same would be found
        is_deaf = False
        mail.deliver(await left(store))
        await at_rest(store)
        assert looks == [0]
        mail.deliver(await left(store))
        await at_rest(store)
        assert (looks, await left(store)) == ([0], [])
        await mail.stop()
