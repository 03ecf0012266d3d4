"""The attempt drawn in docs/machines.md goes through the real admission: one scene for each arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mud_assistant.resilience import BreakerConfig
from tests.machines.drawing import assert_same
from tests.resilience.admission.door import Door


def _state_of(door: Door, name: str) -> str:
    if name in door.refused:
        return "withdrawn" if door.was_cancelled(name) else "refused"
    return "in_flight" if name in door.attempts else "queued" if len(door.upstream.queue) else "ended"


def _asked(door: Door, **request: Any) -> str:
    door.ask("it", **request)
    return _state_of(door, "it")


def _cancelled() -> str:
    door = _full(10)
    asked = door.ask("it")
    assert _state_of(door, "it") == "queued"
    asked.cancel()
    return _state_of(door, "it")


def _queued(**settings: Any) -> Door:
    """Return a server whose one place is taken, with a call in its queue."""
    door = Door(breaker=BreakerConfig(failure_threshold=1), **settings)
    door.ask("first")
    assert _asked(door, patience_until=100.0) == "queued"
    return door


def _after(door: Door, happens: Callable[[Door], object]) -> str:
    happens(door)
    return _state_of(door, "it")


def _too_long(door: Door) -> None:
    door.quota.cool(1000.0, "slow down")
    door.upstream.limits_changed()


def _ended(happens: str) -> str:
    """Return the state of an attempt after one of its three ends, by what its permit says."""
    door = Door(cap=1)
    assert _asked(door) == "in_flight"
    if happens == "a good answer":
        door.end("it")
    elif happens == "a bad answer":
        door.fail("it")
    else:
        door.attempts.pop("it").give_back()
    assert door.is_idle
    return {"success": "succeeded", "failure": "failed", "given back": "given_back"}[
        door.upstream.breaker.recent[-1].how
    ]


def _sick() -> Door:
    door = Door(breaker=BreakerConfig(failure_threshold=1))
    door.ask("first")
    door.fail("first")
    return door


def _full(queue: int) -> Door:
    door = Door(queue=queue)
    door.ask("first")
    return door


def _cooled() -> Door:
    door = Door()
    door.quota.cool(1000.0, "slow down")
    return door


def _reset() -> str:
    door = Door()
    door.quota.cool(5.0, "slow down")
    assert _asked(door) == "queued"
    return _after(door, lambda door: door.clock.advance(5.0))


ATTEMPTS: dict[tuple[str, str], Callable[[], str]] = {
    ("[*]", "there is room"): lambda: _asked(Door()),
    ("[*]", "the cap is full"): lambda: _asked(_full(10)),
    ("[*]", "the circuit is open"): lambda: _asked(_sick()),
    ("[*]", "the queue is full"): lambda: _asked(_full(0)),
    ("[*]", "the wait would be too long"): lambda: _asked(_cooled(), patience_until=100.0),
    ("queued", "a place is free"): lambda: _after(_queued(), lambda door: door.end("first")),
    ("queued", "a limit is reset"): _reset,
    ("queued", "the circuit opens"): lambda: _after(_queued(), lambda door: door.fail("first")),
    ("queued", "an urgent call takes its place"): lambda: _after(
        _queued(queue=1), lambda door: door.ask("urgent", urgent=True)
    ),
    ("queued", "the wait becomes too long"): lambda: _after(_queued(), _too_long),
    ("queued", "the caller cancels"): _cancelled,
    ("in_flight", "a good answer"): lambda: _ended("a good answer"),
    ("in_flight", "a bad answer"): lambda: _ended("a bad answer"),
    ("in_flight", "the caller does not want it any more"): lambda: _ended("given back"),
}


def test_an_attempt_through_admission() -> None:
    found = {(start, happens(), why) for (start, why), happens in ATTEMPTS.items()}
    assert_same("An attempt through admission", found)
