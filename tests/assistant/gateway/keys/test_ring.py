"""Who is admitted, and what others are told."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from msgspec.structs import replace
from twisted.logger import capturedLogs

from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.llm.dialects.failures import FailureKind
from tests.assistant.gateway.keys.rings import ELSEWHERE, HERE, Ringing


def test_without_any_key_whoever_asks_on_this_machine_is_admitted(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    here.refresh()
    assert not here.ring.has_keys
    for address in (HERE, "::1", "::ffff:127.0.0.1"):
        admission = here.ring.admit("sk-whatever", "small", address)
        assert (admission.name, [one.name for one in admission.accounts]) == ("anyone", ["key:anyone"])
    for address in (ELSEWHERE, "", "localhost", "::ffff:192.0.2.7"):
        assert here.refused(address=address).kind is FailureKind.NO_KEY


def test_nobody_is_admitted_before_the_keys_were_read_or_while_they_cannot_be(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    assert here.ring.has_keys
    assert here.refused().kind is FailureKind.OVERLOADED
    here.store.path.write_bytes(b"broken")
    with capturedLogs() as logs:
        here.refresh()
        here.refresh()
    assert here.refused().kind is FailureKind.OVERLOADED
    assert len(logs) == 1


def test_with_a_key_it_alone_is_admitted(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret, other = here.key(), here.key("other")
    assert here.ring.has_keys
    assert here.ring.admit(secret, "small", ELSEWHERE).name == "laptop"
    assert here.ring.admit(other, "small", HERE).name == "other"
    mixed = other[:17] + secret[17:]
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), mixed, "mak_", "\udc80", "x" * 100_000):
        failure = here.refused(wrong)
        assert (failure.kind, failure.should_retry) == (FailureKind.NO_KEY, False)
        assert "Bearer" in failure.message or wrong


def test_a_revoked_key_is_refused_within_a_second_and_the_gateway_stays_closed(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key()
    here.ring.start()
    here.store.revoke("laptop", here.wall.seconds())
    assert here.ring.admit(secret, "", HERE).name == "laptop"
    here.wall.advance(1)
    assert "was revoked" in here.refused(secret).message
    assert here.refused("").kind is FailureKind.NO_KEY
    here.ring.stop()
    assert here.wall.getDelayedCalls() == []


def test_a_key_is_taken_until_the_end_of_its_last_day(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=KeyLimits(expires=date(2026, 11, 22)))
    here.wall.advance(12 * 3600 - 1)
    here.ring.admit(secret, "small", HERE)
    here.wall.advance(1)
    failure = here.refused(secret)
    assert (failure.kind, failure.message) == (FailureKind.NO_KEY, "the key laptop expired on 2026-11-22")


def test_a_key_may_use_its_models_alone(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=KeyLimits(models=("small", "medium")))
    admission = here.ring.admit(secret, "", HERE)
    assert [model for model in ("small", "large", "medium") if admission.may_use(model)] == ["small", "medium"]
    failure = here.refused(secret, "large")
    assert (failure.kind, failure.parameter) == (FailureKind.FORBIDDEN, "model")
    assert "small, medium" in failure.message


def test_a_broken_or_missing_file_leaves_the_old_keys(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key()
    good = here.store.path.read_bytes()
    for spoil in (lambda: here.store.path.write_bytes(b"broken"), here.store.path.unlink):
        spoil()
        with capturedLogs() as logs:
            here.refresh()
            here.refresh()
        assert [event["log_level"].name for event in logs] == ["error"]
        assert here.ring.admit(secret, "small", HERE).name == "laptop"
        assert here.refused("").kind is FailureKind.NO_KEY
    here.store.path.write_bytes(good)
    here.key("next")
    assert here.ring.admit(secret, "small", HERE).name == "laptop"


def test_a_change_of_the_same_size_and_time_is_seen(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key("one")
    before = here.store.path.stat()
    here.store.path.unlink()
    here.store.add("two", KeyLimits(), here.wall.seconds(), os.urandom)
    os.utime(here.store.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    if here.store.path.stat().st_ino == before.st_ino:
        here.store.path.write_bytes(here.store.path.read_bytes() + b" ")
    here.refresh()
    assert here.refused(secret).kind is FailureKind.NO_KEY


def test_requests_in_flight_are_limited_by_key(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret, other = here.key(limits=KeyLimits(in_flight=2)), here.key("other")
    first, _ = (here.ring.admit(secret, "small", HERE) for _ in range(2))
    failure = here.refused(secret)
    assert (failure.kind, failure.retry_after) == (FailureKind.TOO_MANY, 1.0)
    here.ring.admit(other, "small", HERE)
    here.key("third")  # the file is read again meanwhile
    assert here.refused(secret).kind is FailureKind.TOO_MANY
    first.release()
    first.release()
    here.ring.admit(secret, "small", HERE)
    assert here.refused(secret).kind is FailureKind.TOO_MANY


def test_messages_in_a_second_are_limited_by_key(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=replace(KeyLimits(), per_second=10))
    for _ in range(10):
        here.ring.admit(secret, "small", HERE).release()
    failure = here.refused(secret)
    assert (failure.kind, failure.retry_after) == (FailureKind.TOO_MANY, 0.1)
    here.wall.advance(0.1)
    here.ring.admit(secret, "small", HERE).release()
    assert here.refused(secret).kind is FailureKind.TOO_MANY


def test_wrong_keys_of_one_address_are_slowed_and_no_other_and_no_right_key(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key()
    with capturedLogs() as logs:
        kinds = [here.refused(f"guess {n}").kind for n in range(15)]
    assert kinds == [FailureKind.NO_KEY] * 10 + [FailureKind.TOO_MANY] * 5
    assert len(logs) == 1
    assert here.refused("guess").retry_after == 6.0
    assert here.refused("guess", address=ELSEWHERE).kind is FailureKind.NO_KEY
    assert here.ring.admit(secret, "small", HERE).name == "laptop"
    here.wall.advance(6)
    assert here.refused("guess").kind is FailureKind.NO_KEY
    for number in range(3000):
        here.refused("guess", address=f"192.0.2.{number}")
    assert len(here.ring._tries) == 1000


def test_no_secret_is_in_a_log_a_refusal_or_a_repr(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    with capturedLogs() as logs:
        secret = here.key(limits=KeyLimits(models=("small",)))
        told = [here.refused(secret, "large"), *(here.refused(secret[:-1] + "!") for _ in range(12))]
        here.store.path.write_bytes(b'{"keys": ["' + secret.encode() + b'"]}')
        here.refresh()
    shown = f"{logs} {told} {here.ring.__dict__}"
    assert len(logs) == 2
    assert secret[17:-1] not in shown
