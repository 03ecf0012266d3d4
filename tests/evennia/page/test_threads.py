"""Work with the game's database is done off the reactor's thread, and leaves no connection behind."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connections
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.assistant.errors import KeyReferenceError, ServiceNotRunning
from mud_assistant.assistant.page.operations.sources import as_page_errors
from mud_assistant.assistant.page.ports import InvalidInput, PageError, Unavailable
from mud_assistant.assistant.worlds.evennia.console.typed_command import CommandRefused
from mud_assistant.assistant.worlds.evennia.page.threads import DatabaseThreads

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def test_the_connection_of_the_thread_is_closed_behind_the_work() -> None:
    threads = DatabaseThreads(_reactor)

    def ask() -> tuple[object, int, bool]:
        # Django keeps a connection to memory open, which the game's database is only here.
        connections["default"].is_in_memory_db = lambda: False
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT 1")
        return connections["default"], threading.get_ident(), connections["default"].connection is not None

    try:
        made, thread, was_open = await threads(ask)
    finally:
        threads.close()
    assert thread != threading.get_ident()
    assert was_open
    assert getattr(made, "connection", ...) is None


async def test_more_work_than_can_wait_is_refused_and_waiting_work_ends_with_the_page() -> None:
    threads = DatabaseThreads(_reactor)
    go_on = threading.Event()
    begun = [Deferred.fromCoroutine(threads(go_on.wait)) for _ in range(66)]
    with pytest.raises(Unavailable, match="busy"):
        await threads(go_on.wait)
    threads.close()
    go_on.set()
    failed = [await waiting for one in begun[2:] for waiting in [one.addErrback(lambda failure: failure.type)]]
    assert set(failed) == {CancelledError}
    for one in begun[:2]:
        one.addErrback(lambda failure: failure.trap(CancelledError))
        one.cancel()


@pytest.mark.parametrize(
    ("raised", "shown", "told"),
    [
        (lambda: CommandRefused("No."), InvalidInput, "No."),
        (lambda: KeyReferenceError("there is no key"), InvalidInput, "there is no key"),
        (lambda: ServiceNotRunning("it is not running"), Unavailable, "it is not running"),
    ],
)
def test_what_commands_refuse_is_refused_with_the_same_words(
    raised: Callable[[], Exception], shown: type[PageError], told: str
) -> None:
    with pytest.raises(shown) as found, as_page_errors(str):
        raise raised()
    assert str(found.value) == told
