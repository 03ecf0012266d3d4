"""Takes the pass-phrases that people tell, and hashes them away from the reactor's thread.

A phrase is in memory until it is hashed, and nowhere else: no event, no log and no model has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons, known_again, phrase_kept

Hashes = Mapping[str, bytes]
#: Does work away from the reactor's thread, and calls with what it returns.
Elsewhere = Callable[[Callable[[], Hashes], Callable[[Hashes], None]], None]


def at_once(work: Callable[[], Hashes], then: Callable[[Hashes], None]) -> None:
    """Do the work here, for who replays and has no reactor."""
    then(work())


class ToldPhrases:
    """The pass-phrases that are being hashed. `notice` takes the sentence that says what came of one."""

    def __init__(self, persons: Persons, elsewhere: Elsewhere, notice: Callable[[str], None]) -> None:
        self._persons, self._elsewhere, self._notice = persons, elsewhere, notice
        self._names: set[str] = set()

    def take(self, name: str, phrase: str) -> None:
        """Keep a pass-phrase, or know by it who somebody is. Of several that come at once the first counts."""
        if name in self._names:
            return
        self._names.add(name)
        work = self._persons.phrase_hashes(name, phrase)
        self._elsewhere(work, lambda hashes: self._took(name, phrase, hashes))

    def _took(self, name: str, phrase: str, hashes: Hashes) -> None:
        self._names.discard(name)
        if (known := self._persons.wake_by_phrase(name, hashes)) is not None:
            self._notice(known_again(name, known.id.rpartition("#")[2].split(".")[0]))
        else:
            self._notice(phrase_kept(name, is_kept=self._persons.set_phrase(name, phrase, hashes)))
