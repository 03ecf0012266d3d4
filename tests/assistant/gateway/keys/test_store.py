"""The file of keys: nobody's change is lost, it is whole or the old one, and it holds no secret."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from base64 import urlsafe_b64encode
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.gateway.keys import GatewayKeyError, KeyLimits, KeyStore
from mud_assistant.assistant.gateway.keys.store import MAX_BYTES
from mud_assistant.resilience import Allowance

NOON = 1_795_348_800.0  # 2026-11-22 12:00 UTC
ROOT = Path(__file__).parents[4]
LIMITS = KeyLimits(
    ("small", "large"), Allowance(10, 2000, 1.5), Allowance(money=20.0), 3, 7, date(2027, 1, 31), "Ann's editor"
)


def add(store: KeyStore, name: str, limits: KeyLimits | None = None) -> str:
    return store.add(name, limits or KeyLimits(), NOON, secrets.token_bytes)


def python(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Another process that runs code of ours."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stderr=subprocess.PIPE)


def test_a_key_is_read_as_it_was_made_and_its_secret_is_not_in_the_file(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    assert store.load().keys == ()
    secret = add(store, "laptop", LIMITS)
    (key,) = store.load().keys
    assert (key.name, key.limits, key.created, key.revoked) == ("laptop", LIMITS, NOON, None)
    assert key.is_of(secret)
    assert not key.is_of(secret[:-1])
    assert secret.rpartition("_")[2] not in store.path.read_text()
    assert key.salt.hex() not in repr(key)
    assert store.path.stat().st_mode & 0o777 == 0o600


#: A file as the first version of the gateway wrote it, and the secret of its first key.
EARLIER = """{
 "version": 1,
 "keys": [
  {
   "name": "laptop",
   "id": "000000000000",
   "salt": "AgICAgICAgICAgICAgICAg==",
   "digest": "CCAiqaVXvPn/yr/ue3V1ngpcgphs6faPUKeeeW5UKEc=",
   "models": [
    "small",
    "large"
   ],
   "day": {
    "calls": 10,
    "tokens": 2000,
    "money": 1.5
   },
   "month": {
    "money": 20.0
   },
   "in_flight": 3,
   "per_second": 7,
   "expires": "2027-01-31",
   "note": "Ann's editor",
   "created": 1795348800.0
  },
  {
   "name": "phone",
   "id": "030303030303",
   "salt": "BQUFBQUFBQUFBQUFBQUFBQ==",
   "digest": "OJi8RKtJiZlmGveNz071uDXGThF3fuKcTr9m9hwWXYk=",
   "models": [],
   "day": {},
   "month": {},
   "in_flight": 64,
   "per_second": 100,
   "note": "",
   "created": 1795348800.25,
   "revoked": 1795348900.5
  }
 ]
}"""
EARLIER_SECRET = "mak_000000000000_" + urlsafe_b64encode(b"\1" * 32).decode().rstrip("=")


def test_a_file_of_an_earlier_version_goes_on_and_what_is_written_is_what_it_reads(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    store.path.write_text(EARLIER)
    laptop, phone = store.load().keys
    assert laptop.is_of(EARLIER_SECRET)
    assert (laptop.limits, laptop.created, laptop.revoked) == (LIMITS, NOON, None)
    assert (phone.limits, phone.created, phone.revoked) == (KeyLimits(), NOON + 0.25, NOON + 100.5)
    add(store, "next")
    assert store.load().keys[:2] == (laptop, phone)
    written = json.loads(store.path.read_bytes(), object_hook=without_nulls)
    assert (written["version"], written["keys"][:2]) == (1, json.loads(EARLIER)["keys"])


def without_nulls(members: dict[str, Any]) -> dict[str, Any]:
    """What an earlier version reads in the same way: for it null and nothing are one."""
    return {name: value for name, value in members.items() if value is not None}


def test_names_are_used_once_even_after_a_revocation(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    add(store, "laptop")
    assert store.revoke("laptop", NOON + 5)
    assert not store.revoke("laptop", NOON + 9)
    assert store.load().named("laptop").revoked == NOON + 5
    with pytest.raises(GatewayKeyError, match="there is a key laptop already"):
        add(store, "laptop")
    with pytest.raises(GatewayKeyError, match="there is no key other"):
        store.revoke("other", NOON)


@pytest.mark.parametrize("name", ["", "a b", "x" * 41, "../x", "anyone", "Anyone", "a\n"])
def test_a_name_that_no_key_may_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(GatewayKeyError):
        add(KeyStore(tmp_path / "keys.json"), name)
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize(
    "limits", [KeyLimits(note="a\nb"), KeyLimits(note="x" * 201), KeyLimits(("",)), KeyLimits(in_flight=0)]
)
def test_limits_that_no_key_may_have_are_refused(tmp_path: Path, limits: KeyLimits) -> None:
    with pytest.raises(GatewayKeyError):
        add(KeyStore(tmp_path / "keys.json"), "laptop", limits)


def test_two_processes_that_make_keys_at_the_same_time_lose_none(tmp_path: Path) -> None:
    code = (
        "import secrets, sys; from pathlib import Path\n"
        "from mud_assistant.assistant.gateway.keys import KeyLimits, KeyStore\n"
        "store = KeyStore(Path(sys.argv[1]))\n"
        "for n in range(15): store.add(f'{sys.argv[2]}-{n}', KeyLimits(), 0.0, secrets.token_bytes)"
    )
    path = tmp_path / "keys.json"
    working = [python(code, str(path), name) for name in ("one", "two")]
    assert [each.communicate(timeout=90)[1] for each in working] == [b"", b""]
    assert {key.name for key in KeyStore(path).load().keys} == {f"{a}-{n}" for a in ("one", "two") for n in range(15)}


def test_a_process_that_dies_before_the_new_file_is_in_place_leaves_the_old_one_and_no_lock(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    secret = add(store, "old")
    code = (
        "import os, secrets, sys; from pathlib import Path\n"
        "from mud_assistant.assistant.gateway.keys import KeyLimits, KeyStore\n"
        "Path.replace = lambda *_: os._exit(9)\n"
        "KeyStore(Path(sys.argv[1])).add('new', KeyLimits(), 0.0, secrets.token_bytes)"
    )
    dying = python(code, str(store.path))
    dying.communicate(timeout=90)
    assert dying.returncode == 9
    assert len(list(tmp_path.glob(".keys.json.*"))) == 2  # the lock, and what was not finished
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    (key,) = store.load().keys
    assert key.is_of(secret)
    add(store, "next")
    assert [key.name for key in store.load().keys] == ["old", "next"]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 2, "keys": []}',
        b'{"keys": [{"name": "x"}]}',
        b'{"keys": [], "more": 1}',
        b"\xff\xfe",
        b" " * (MAX_BYTES + 1),
    ],
)
def test_a_broken_file_is_an_error_and_is_not_overwritten(tmp_path: Path, broken: bytes) -> None:
    store = KeyStore(tmp_path / "keys.json")
    store.path.write_bytes(broken)
    for act in (store.load, lambda: add(store, "new"), lambda: store.revoke("old", NOON)):
        with pytest.raises(GatewayKeyError, match=r"keys\.json"):
            act()
    assert store.path.read_bytes() == broken


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("salt", "AAAA"),
        ("digest", "no base64!"),
        ("name", "a b"),
        ("id", "../../../../"),
        ("in_flight", 0),
        ("day", {"money": -1}),
        ("day", {"money": 1e999}),
        ("created", "yesterday"),
    ],
)
def test_a_damaged_key_is_an_error_that_shows_nothing_of_it(tmp_path: Path, field: str, value: object) -> None:
    store = KeyStore(tmp_path / "keys.json")
    add(store, "laptop")
    stored = json.loads(store.path.read_bytes())
    digest = stored["keys"][0]["digest"]
    stored["keys"][0][field] = value
    store.path.write_text(json.dumps(stored))
    with pytest.raises(GatewayKeyError) as caught:
        store.load()
    assert digest not in str(caught.value)


def test_two_keys_of_one_name_are_an_error(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    add(store, "laptop")
    stored = json.loads(store.path.read_bytes())
    stored["keys"].append(stored["keys"][0])
    store.path.write_text(json.dumps(stored))
    with pytest.raises(GatewayKeyError, match="two keys"):
        store.load()
