"""A call that gives way: made while nobody else wants the server, ended by the next call that does."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import (
    Account,
    Allowance,
    Attempt,
    Call,
    Caller,
    CallTarget,
    Deadline,
    GaveWay,
    Ledger,
    Pipeline,
    Verdict,
)

PAYER = (Account("sage", Allowance(calls=1)),)
ORDER = Call(CallTarget("http://127.0.0.1:1"), lambda error: Verdict(str(error)), Caller("sage"))
IDLE = replace(ORDER, caller=Caller("sage", is_urgent=False, accounts=PAYER, gives_way=True))
ELSEWHERE = replace(ORDER, target=CallTarget("http://127.0.0.1:2"))


class Server:
    """Calls that stay open until they are answered or given up."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.ledger = Ledger(self.clock.seconds, lambda: 0.0)
        self.pipeline = Pipeline(self.clock, Random(1), self.ledger)  # noqa: S311  (jitter)
        self.open: list[Deferred[str]] = []

    def call(self, call: Call) -> tuple[Deferred[str], list[Any]]:
        """The call, and what came of it."""

        async def attempt(_: Attempt) -> str:
            answer: Deferred[str] = Deferred()
            self.open.append(answer)
            try:
                return await answer
            finally:
                self.open.remove(answer)

        came: list[Any] = []
        called = Deferred.fromCoroutine(self.pipeline.call(attempt, call, Deadline.after(self.clock, 60)))

        def failed(failure: Failure) -> None:
            came.append(type(failure.value))

        called.addCallbacks(came.append, failed)
        return called, came


def test_it_is_made_when_nobody_wants_the_server_and_nobody_pays() -> None:
    server = Server()
    _, came = server.call(IDLE)
    server.open[0].callback("read")
    assert came == ["read"]
    assert server.ledger.snapshot() == ()


def test_the_next_call_ends_it_and_goes_on_itself() -> None:
    server = Server()
    _, idle = server.call(IDLE)
    _, came = server.call(ORDER)
    assert idle == [GaveWay]
    [only] = server.open
    only.callback("answer")
    assert came == ["answer"]
    upstream = server.pipeline.upstream(ORDER.target.origin)
    assert upstream.in_flight.used == 0
    assert upstream.breaker.failures_in_a_row == 0


def test_it_is_not_made_while_a_call_or_another_like_it_goes() -> None:
    server = Server()
    server.call(ORDER)
    _, idle = server.call(IDLE)
    assert idle == [GaveWay]
    server.open[0].callback("answer")
    server.call(IDLE)
    _, second = server.call(IDLE)
    assert second == [GaveWay]
    assert len(server.open) == 1


def test_a_call_to_another_server_leaves_it_alone() -> None:
    server = Server()
    _, idle = server.call(IDLE)
    server.call(ELSEWHERE)
    assert idle == []


def test_its_own_caller_may_give_it_up() -> None:
    server = Server()
    called, idle = server.call(IDLE)
    called.cancel()
    assert idle == [CancelledError]
    _, again = server.call(IDLE)
    server.open[0].callback("read")
    assert again == ["read"]
