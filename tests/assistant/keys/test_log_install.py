"""Redaction laid over a publisher that belongs to somebody else, as the game's does."""

from __future__ import annotations

from typing import Any

from twisted.logger import Logger, LogPublisher, eventAsText

from mud_assistant.assistant.keys.log import install
from mud_assistant.assistant.keys.redaction import Secrets

KEY = "planted-key-0123456789"


def secrets_of(value: str) -> Secrets:
    secrets = Secrets()
    secrets.add(value)
    return secrets


def test_installing_wraps_what_is_there_and_can_be_undone() -> None:
    first: Any = []
    second: Any = []
    later: Any = []
    publisher = LogPublisher(first.append, second.append)
    log = Logger("test", observer=publisher)
    secrets = secrets_of(KEY)
    undo = install(publisher, secrets)
    install(publisher, secrets)
    publisher.addObserver(later.append)
    log.info("{a}", a=KEY)
    assert (first[0]["a"], second[0]["a"], later[0]["a"]) == ("[key]", "[key]", KEY)
    undo_later = install(publisher, secrets)
    log.info("{a}", a=KEY)
    assert later[1]["a"] == "[key]"
    undo()
    undo_later()
    undo()
    log.info("{a}", a=KEY)
    assert (first[2]["a"], later[2]["a"]) == (KEY, KEY)
    assert publisher._observers == [first.append, second.append, later.append]


def test_the_owner_of_a_publisher_removes_his_observer_as_ever() -> None:
    seen: Any = []
    observer: Any = seen.append
    publisher = LogPublisher(observer)
    undo = install(publisher, secrets_of(KEY))
    publisher.addObserver(observer)
    assert len(publisher._observers) == 1
    publisher.removeObserver(observer)
    Logger("test", observer=publisher).info("{a}", a=KEY)
    undo()
    assert seen == []
    assert publisher._observers == []


def test_an_observer_that_fails_is_reported_without_the_key() -> None:
    def broken(event: Any) -> None:
        raise ValueError(KEY)

    fails: Any = broken
    seen: Any = []
    publisher = LogPublisher(fails, seen.append)
    install(publisher, secrets_of(KEY))
    Logger("test", observer=publisher).info("{a}", a=1)
    assert len(seen) == 2
    assert KEY not in "".join(map(eventAsText, seen))
