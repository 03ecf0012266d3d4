"""A watcher that fails harms neither a run nor another watcher."""

from __future__ import annotations

from typing import Any

from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.watching import Watchers
from tests.guards import FlushFailures


class Watching:
    """A watcher that writes down which runs it sees, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.seen: list[str] = []
        self._fails = fails

    def thinking(self, me: str, run_id: str, step: int) -> None:
        if self._fails:
            raise ValueError("a bug")
        self.seen.append(run_id)

    def heard(self, *_: Any) -> None: ...
    def begins(self, *_: Any) -> None: ...
    def delta(self, *_: Any) -> None: ...
    def step(self, *_: Any) -> None: ...
    def run_ended(self, me: str, run_id: str, outcome: Outcome) -> None: ...


class Keeper:
    """A keeper that writes down whose words it dropped."""

    def __init__(self) -> None:
        self.forgot: list[str] = []

    def forget(self, me: str) -> None:
        self.forgot.append(me)


def test_a_watcher_that_fails_is_logged_and_the_next_one_told(flush_failures: FlushFailures) -> None:
    watchers, broken, well = Watchers(), Watching(fails=True), Watching()
    watchers.add(broken)
    watchers.add(well)
    watchers.thinking("a:1", "run", 1)
    assert well.seen == ["run"]
    assert len(flush_failures(ValueError)) == 1


def test_it_is_watched_from_the_first_watcher_to_the_last() -> None:
    watchers, one, other = Watchers(), Watching(), Watching()
    for watcher in (one, one, other):
        watchers.add(watcher)
    assert (len(watchers), watchers.is_watched) == (2, True)
    watchers.remove(one)
    assert watchers.is_watched
    watchers.remove(one)
    watchers.remove(other)
    assert (len(watchers), watchers.is_watched) == (0, False)


def test_each_keeper_is_told_once_whose_words_are_forgotten() -> None:
    watchers, keeper = Watchers(), Keeper()
    watchers.tell_keeper(keeper)
    watchers.tell_keeper(keeper)
    watchers.forget("a:1")
    assert keeper.forgot == ["a:1"]
