"""Keeps the troubles of a process that only a person can mend, and tells of each when it begins and when it ends.

A trouble is identified by its kind and its subject. It begins once, however often it is noticed, and ends once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from twisted.logger import Logger

from assistant.loop.spending import TOTAL

#: The subject of troubles that concern every assistant.
EVERYBODY = TOTAL

_log = Logger()


class TroubleKind(StrEnum):
    """The kind of a trouble."""

    EMERGENCY = "emergency stop"
    PARKED = "put aside"
    NO_MODEL = "no model"
    MODEL = "model"
    KEY = "key"
    BUDGET = "budget"
    JOURNAL = "journal"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something a person must see to. `subject` is the id of an assistant, the origin of a server, or EVERYBODY.

    `name` is the name of the assistant that met it, empty for none. `sentence` says what is wrong, and holds no key.
    The user interface says what to do about it, since each has its own commands.
    """

    kind: TroubleKind
    subject: str
    name: str
    sentence: str

    @property
    def key(self) -> tuple[TroubleKind, str]:
        """The kind and subject, which identify the trouble."""
        return self.kind, self.subject


#: Called with a trouble, and False when it begins or True when it is over. Must not raise and must not wait.
Listener = Callable[[Trouble, bool], None]


class Troubles:
    """The current troubles, oldest first. Use it only on the reactor's thread."""

    def __init__(self) -> None:
        self._current: dict[tuple[TroubleKind, str], Trouble] = {}
        self.listeners: list[Listener] = []

    def __iter__(self) -> Iterator[Trouble]:
        """Iterate over the current troubles."""
        return iter(tuple(self._current.values()))

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Tell the listener of the current troubles and of each change. Return a function that ends this."""
        self.listeners.append(listener)
        for trouble in self:
            listener(trouble, False)

        def unwatch() -> None:
            if listener in self.listeners:
                self.listeners.remove(listener)

        return unwatch

    def restore(self, known: Iterable[Trouble]) -> None:
        """Add the troubles that an earlier process left, without telling the listeners."""
        for trouble in known:
            self._current.setdefault(trouble.key, trouble)

    def begin(self, trouble: Trouble) -> None:
        """Note a trouble, and tell the listeners if it is new."""
        is_new = trouble.key not in self._current
        self._current[trouble.key] = trouble
        if is_new:
            _log.error("{kind}: {sentence}", log_event="trouble", kind=trouble.kind, sentence=trouble.sentence)
            self._tell(trouble, over=False)

    def end(self, kind: TroubleKind, subject: str) -> None:
        """Note that a trouble is over, and tell the listeners if there was one."""
        if (trouble := self._current.pop((kind, subject), None)) is not None:
            _log.info("{kind}: over: {sentence}", log_event="trouble", kind=kind, sentence=trouble.sentence)
            self._tell(trouble, over=True)

    def of_journal(self, sentence: str) -> None:
        """Note what is wrong with the journal. An empty `sentence` ends the trouble."""
        if sentence:
            self.begin(Trouble(TroubleKind.JOURNAL, EVERYBODY, "", sentence))
        else:
            self.end(TroubleKind.JOURNAL, EVERYBODY)

    def of(self, subject: str) -> list[Trouble]:
        """Return the troubles of one assistant, and those that concern all."""
        return [one for one in self if one.subject in {subject, EVERYBODY}]

    def of_kind(self, kind: TroubleKind) -> list[Trouble]:
        """Return the troubles of one kind."""
        return [one for one in self if one.kind is kind]

    def forget(self, subject: str) -> None:
        """End all troubles of an assistant that is stopped or gone."""
        for kind in TroubleKind:
            self.end(kind, subject)

    def _tell(self, trouble: Trouble, *, over: bool) -> None:
        for listener in tuple(self.listeners):
            listener(trouble, over)
