"""The players of an evening: what they see at their telnet prompts, and what of it is a character's."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.talk_sheet import NOTICES
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET

_NAMES = {room.name: room.key for room in HAMLET.rooms}
#: A room as it is shown to those who come in; the owner of a game sees its number too.
_ROOM = re.compile(rf"^({'|'.join(map(re.escape, _NAMES))})(?:\(#\d+\))?\s*$", re.MULTILINE)
_SAYS = (
    (re.compile(r'says, "(.*)"'), "say"),
    (re.compile(r'whispers: "(.*)"'), "whisper"),
    (re.compile(r"pages: (.*)"), "page"),
)


class EveningError(Exception):
    """The evening cannot go on; the message says why, and what would help."""


class Prompt(Protocol):
    """A connection to the game: all that came, and a way to send a line."""

    @property
    def text(self) -> str:
        """All that was seen so far, as plain text."""
        ...

    def type(self, line: str) -> object:
        """Send a line."""
        ...


@dataclass(frozen=True, slots=True)
class Visitor:
    """A player who is in the game."""

    name: str
    prompt: Prompt

    @property
    def text(self) -> str:
        """All that they saw."""
        return self.prompt.text

    @property
    def mark(self) -> int:
        """The end of it."""
        return len(self.prompt.text)

    @property
    def room(self) -> str:
        """The key of the room that they saw last; empty before they saw one."""
        shown = _ROOM.findall(self.prompt.text)
        return _NAMES[shown[-1]] if shown else ""

    def type(self, line: str) -> None:
        """Send a line."""
        self.prompt.type(line)


@dataclass(frozen=True, slots=True)
class Seen:
    """What characters said and did in a turn, and what only told that they think."""

    words: list[dict[str, str]]
    notices: list[str]


def seen_of(texts: Sequence[str], characters: Sequence[str]) -> Seen:
    """Sort out what each of the players saw; what two of them saw is told once. A line that is not whole yet waits."""
    character = re.compile(rf"({'|'.join(map(re.escape, characters))}) (.+)")
    seen, told = Seen([], []), set[str]()
    for text in texts:
        own: set[str] = set()
        for line in text.split("\n")[:-1]:
            found = character.fullmatch(line.strip())
            if found is None or (line in told and line not in own):
                continue
            own.add(line)
            if found[2].startswith(NOTICES):
                seen.notices.append(found[0])
            else:
                seen.words.append({"who": found[1], **_word(found[2])})
        told |= own
    return seen


def _word(rest: str) -> dict[str, str]:
    """A line behind the name of who it is of: speech, or what they were seen to do."""
    for pattern, how in _SAYS:
        if found := pattern.fullmatch(rest):
            return {"how": how, "text": found[1]}
    return {"how": "emote", "text": rest}


def rooms_to(room: str, where: str, residents: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the shortest way from a room to a resident or to a place named in words: directions, and rooms behind.

    Raises EveningError when there is none.
    """
    words = where.casefold().removeprefix("the ")
    wanted = residents.get(where) or next((key for name, key in _NAMES.items() if words in name.casefold()), None)
    rooms = {one.key: one for one in HAMLET.rooms}
    ways: dict[str, list[tuple[str, str]]] = {room: []}
    waiting = deque([room] if room in rooms else [])
    while waiting:
        here = waiting.popleft()
        if here == wanted:
            return ways[here]
        for way in rooms[here].exits:
            if way.to not in ways:
                ways[way.to] = [*ways[here], (way.direction, way.to)]
                waiting.append(way.to)
    raise EveningError(f"there is no way from '{room}' to {where}: name a place or a resident of the village")
