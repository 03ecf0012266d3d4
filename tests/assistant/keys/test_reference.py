"""Where a key may be, and what is said when it is not there. `test_key_file.py` has the files."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import InThread, Keyring, KeySources, anchor, check_reference, resolve_key
from mud_assistant.resilience import DeadlineExceeded
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.tools.testing import now
from tests.assistant.living import reactor

KEY = "planted-key-0123456789"


class FakeKeyring:
    """Stands in for the module `keyring`: an error is raised, None is no entry."""

    def __init__(self, answer: str | Exception | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def get_password(self, service_name: str, username: str, /) -> str | None:
        self.asked.append((service_name, username))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def here(work: Callable[[], str]) -> str:
    return work()


def resolve(reference: str, environment: dict[str, str] | None = None, **sources: Any) -> str:
    found = KeySources(environment or {}, sources.pop("in_thread", here), **sources)
    return now(Deferred.fromCoroutine(resolve_key(reference, found)))


def refusal(reference: str, **sources: Any) -> str:
    with pytest.raises(KeyReferenceError) as caught:
        resolve(reference, **sources)
    told = str(caught.value)
    assert "\n" not in told
    assert KEY not in told
    assert KEY not in f"{caught.value.__cause__!r} {caught.value.__context__!r}"
    return told


def test_no_reference_is_no_key() -> None:
    assert not resolve("")


def test_the_key_is_where_the_reference_points() -> None:
    assert resolve("env:MY_KEY", {"MY_KEY": " planted \n"}) == "planted"


LITERALS = [KEY, f"sk-ant-{KEY}", f"env:{KEY}", f"Bearer {KEY}", f"ENV:{KEY}", f"file:{KEY}\n", f"keyring:\t{KEY}", ":"]


@pytest.mark.parametrize("reference", ["env:", "file:", "file: ", "keyring:", "vault:x", *LITERALS])
def test_what_is_no_reference_is_refused_and_not_repeated(reference: str) -> None:
    assert "must be" in (told := refusal(reference)) or "never written out" in told
    with pytest.raises(KeyReferenceError):
        check_reference(reference)


@pytest.mark.parametrize("literal", LITERALS)
def test_settings_refuse_a_key_and_do_not_repeat_it(literal: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelConfig(key=literal)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("reference", ["", "env:MY_KEY", "file:~/keys/sage", "file:C:/key", "keyring:sage"])
def test_settings_take_each_form(reference: str) -> None:
    assert ModelConfig(key=reference).key == reference


def test_a_variable_that_is_not_set_is_named() -> None:
    whole = "type export MY_KEY=THE_KEY in the shell it is started from, and start the program anew"
    assert whole in refusal("env:MY_KEY")
    assert whole in refusal("env:MY_KEY", environment={"MY_KEY": "  "})


@pytest.mark.parametrize("value", [f"{KEY}\n{KEY}", f"{KEY}\x00", f"\ufeff{KEY}", f"{KEY}\udcff"])
def test_what_cannot_stand_in_a_header_is_no_key(value: str) -> None:
    assert "one line of plain characters" in refusal("env:K", environment={"K": value})
    assert "one line of plain characters" in refusal("keyring:k", open_keyring=lambda: FakeKeyring(value))


def test_every_key_found_is_kept_out_of_sight(tmp_path: Path) -> None:
    secrets = Secrets()
    keyring = FakeKeyring("from-the-keyring")
    (tmp_path / "key").write_text("from-the-file")
    (tmp_path / "key").chmod(0o600)
    for reference in ("env:K", "file:key", "keyring:sage"):
        resolve(
            reference, {"K": "from-the-environment"}, folder=tmp_path, secrets=secrets, open_keyring=lambda: keyring
        )
    assert secrets.scrub("from-the-keyring from-the-file from-the-environment") == "[key] [key] [key]"


def test_a_keyring_is_asked_for_an_entry_of_ours() -> None:
    keyring = FakeKeyring(f" {KEY}\n")
    assert resolve("keyring:sage", open_keyring=lambda: keyring) == KEY
    assert keyring.asked == [("mud-assistant", "sage")]


def _missing() -> Keyring:
    raise ModuleNotFoundError("No module named 'keyring'")


@pytest.mark.parametrize(
    ("open_keyring", "words"),
    [
        (_missing, "pip install 'mud-assistant[keyring]'"),
        (lambda: FakeKeyring(None), "keyring set mud-assistant sage"),
        (lambda: FakeKeyring("  "), "keyring set mud-assistant sage"),
        (lambda: FakeKeyring(RuntimeError(f"No recommended backend; {KEY}")), "(RuntimeError): it needs a desktop"),
    ],
)
def test_a_keyring_that_gives_no_key_is_one_sentence(open_keyring: Callable[[], Keyring], words: str) -> None:
    assert words in refusal("keyring:sage", open_keyring=open_keyring)


def test_the_real_keyring_package_is_asked_when_it_is_installed() -> None:
    keyring = pytest.importorskip("keyring")
    backend = pytest.importorskip("keyring.backend")

    class Backend(backend.KeyringBackend):  # type: ignore[misc, name-defined]  # only there when it is installed
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return KEY if (service, username) == ("mud-assistant", "sage") else None

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(Backend())
    try:
        assert resolve("keyring:sage") == KEY
        assert "keyring set mud-assistant other" in refusal("keyring:other")
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("reference", ["file:key", "keyring:sage"])
def test_what_does_not_answer_in_time_is_told(reference: str) -> None:
    async def slow(work: Callable[[], str]) -> str:
        raise DeadlineExceeded("no result within 60 s", 60.0)

    assert "did not answer within 60 s" in refusal(reference, in_thread=slow)


def _daemons(seconds: float) -> InThread:
    return partial(in_daemon_thread, reactor, seconds)


async def test_the_reactor_turns_while_a_keyring_waits_for_a_person() -> None:
    threads: list[threading.Thread] = []
    asked, unlocked = threading.Event(), threading.Event()

    class Waiting(FakeKeyring):
        def get_password(self, service_name: str, username: str, /) -> str | None:
            threads.append(threading.current_thread())
            asked.set()
            unlocked.wait(10)
            return KEY

    sources = KeySources({}, _daemons(10), open_keyring=lambda: Waiting(None))
    resolving = Deferred.fromCoroutine(resolve_key("keyring:sage", sources))
    while not asked.is_set():
        await deferLater(reactor, 0.001)
    unlocked.set()
    assert await resolving == KEY
    assert threads[0] is not threading.current_thread()
    assert threads[0].daemon


async def test_a_keyring_that_never_answers_is_given_up() -> None:
    never = threading.Event()

    class Silent(FakeKeyring):
        def get_password(self, service_name: str, username: str, /) -> str | None:
            never.wait(10)
            return None

    sources = KeySources({}, _daemons(0.05), open_keyring=lambda: Silent(None))
    with pytest.raises(KeyReferenceError, match=r"within 0.05 s"):
        await resolve_key("keyring:sage", sources)
    never.set()


async def test_an_error_in_the_thread_comes_back() -> None:
    def fails() -> str:
        raise KeyReferenceError("no")

    work: Awaitable[str] = _daemons(10)(fails)
    with pytest.raises(KeyReferenceError, match="no"):
        await work


def test_a_relative_file_is_anchored_and_nothing_else() -> None:
    folder = Path("/games/hamlet")
    assert anchor("file:keys/sage", folder) == "file:/games/hamlet/keys/sage"
    for other in ("", "file:/etc/key", "file:~/key", "file:", "env:KEY", "keyring:x"):
        assert anchor(other, folder) == other
