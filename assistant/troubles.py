"""What is wrong with a whole process, such as a full disk: told once to those who watch, and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twisted.logger import Logger

#: What the troubles of the journal are kept under.
JOURNAL = "journal"

_log = Logger()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something is wrong, or is so no longer. `about` names the part, `sentence` says what is wrong with it."""

    about: str
    sentence: str
    is_over: bool = False


#: Told of each trouble as it begins and as it ends. It must not raise.
Watcher = Callable[[Trouble], None]


class Troubles:
    """The troubles of a process, at most one for each part. Only on the reactor's thread."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._watchers: list[Watcher] = []

    @property
    def now(self) -> Mapping[str, str]:
        """The sentence of each trouble there is, by what it is about."""
        return dict(self._now)

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Tell of the troubles there are and of each to come. What is given back ends that."""
        self._watchers.append(watcher)
        for about, sentence in self._now.items():
            watcher(Trouble(about, sentence))

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return unwatch

    def tell(self, about: str, sentence: str) -> None:
        """This part has that trouble now, none when the sentence is empty. What is known already is not told again."""
        before = self._now.get(about, "")
        if sentence == before:
            return
        if sentence:
            self._now[about] = sentence
            _log.error("{about}: {sentence}", log_event="trouble", about=about, sentence=sentence)
        else:
            del self._now[about]
            _log.info("{about}: all is well again", log_event="trouble", about=about)
        trouble = Trouble(about, sentence or before, is_over=not sentence)
        for watcher in tuple(self._watchers):
            watcher(trouble)
