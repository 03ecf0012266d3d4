"""Names whose words in the stream lower what an assistant may do, for a player who is refused and one who decides.

The stream keeps the level of each entry and the ids of those who caused it. The names of people are learned as they are
heard and seen; of a person heard before the last restart only the id is known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant.memory.entries import Entry
from assistant.memory.history import History
from llm.messages import Role
from tools import Principal, Scene, label_of
from tools.policy.decide import GAME_TEXTS, name_source
from tools.text.clean import one_line
from tools.trust import rank

#: How many people are remembered by name, and how many causes are named.
MAX_KNOWN, MAX_NAMED = 500, 4
_MAX_NAME = 60
#: What a thing lowers it by.
_TEXT_OF = "the name or the description of"


class Voices:
    """The people whose words or names were met lately: what they are called and how far they are trusted."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def heard(self, who: Principal, world_text: int) -> None:
        """Learn the name of a person who was heard."""
        self._learn(who.id, who.name, label_of(who, world_text).authority)

    def seen(self, scene: Scene) -> None:
        """Learn the names of all in the scene that are not the game's own."""
        for person in scene.people:
            if person.authority is not None:
                self._learn(person.id, person.name, person.authority)
        for thing in (*scene.things, *scene.carried):
            if thing.authority is not None:
                self._learn(thing.id, f"{_TEXT_OF} {thing.name}", thing.authority)

    def name_causes(self, history: History, level: int, asker: str) -> str:
        """Name the people, or other causes, in the stream whose level is no higher than this, the latest first.

        What a tool was asked in a run for somebody other than `asker` (a principal's id) is not told.
        """
        low = [entry for entry in history.entries() if entry.authority <= level]
        told = [entry for entry in low if entry.others_level <= level]
        causes = dict.fromkeys(cause for entry in reversed(told or low) for cause in self._causes(entry, level, asker))
        return ", ".join(list(causes)[:MAX_NAMED])

    def _learn(self, who: str, name: str, level: int) -> None:
        if who:
            self._known[who] = (name[: _MAX_NAME + len(_TEXT_OF)], level)
            self._known.move_to_end(who)
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)

    def _causes(self, entry: Entry, level: int, asker: str) -> Iterator[str]:
        calls = [call for message in entry.messages for call in message.tool_calls]
        if entry.others_level > level:
            names = list(self._names(entry.sources, level)) or ["others"]
            yield f"what it said itself when words of {' and '.join(names)} were in its view"
        elif calls or entry.messages[0].role is not Role.USER:
            own = set(entry.sources) <= {asker}
            yield from (name_source(call if own else replace(call, arguments={})) for call in calls)
        else:
            names = list(self._names(entry.sources, level))
            yield from (name if name.startswith(_TEXT_OF) else f"what {name} wrote or said" for name in names)
            if not names:
                yield GAME_TEXTS

    def _names(self, sources: Sequence[str], level: int) -> Iterator[str]:
        """Yield the names of those sources that are trusted no more than `level`, or whose trust is not known."""
        for who in sources:
            name, theirs = self._known.get(who, ("", level))
            name = one_line(name)
            if theirs <= level and who != "world":
                rest = "" if name.startswith(_TEXT_OF) else f" ({rank(theirs)})"
                yield f"{name}{rest}" if name else f"somebody heard earlier ({who})"
