"""Reads an evening in the game as it is written down: who says what, one line after the other, and when it restarts.

    1. O: say Hello Sage! · B: whisper Sage = I am Bea. · south · say Where are we? (with B at once: say Come back!)
    2. *restart* · B (at the inn): say Oda, what is the news?

`O` is the account that owns the game; the others are named in the text, such as "B: Bea". A line without a letter
is of the one who spoke before. Who speaks to a resident by name goes to them first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.talk_lines import as_written
from benchmarks.talk_stage import Item, Turn
from mud_assistant.assistant.surfaces.game.folder import OWNER
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.embedded.place_file import WrittenPlace

#: The name of the character in the first room of a new game.
FIRST_CHARACTER = "Sage"
_NAMED = re.compile(r"\b([A-Z]): ([A-Z]\w+)(?=[,;).])")
_PART = re.compile(r"\d+\. ")
_BETWEEN = " · "
_RESTART = "*restart*"
_WHO = re.compile(r"([A-Z])(?: \(at ([^)]+)\))?: ")
_AT_ONCE = re.compile(r" ?\(with ([A-Z]) at once: (.+)\)$")
_TO_SOMEBODY = re.compile(r"(whisper|page) (.+?) ?= ?(.+)")
#: Where each of those lives who belong to the village: the key of the room.
RESIDENTS = {one.principal.name: one.room for one in HAMLET.residents}
_TO_RESIDENT = re.compile(rf"(?:say|whisper) ({'|'.join(RESIDENTS)})\b(?= =|,)")
_DIRECTIONS = frozenset(way.direction for room in HAMLET.rooms for way in room.exits)


def evening_talk(file: Path) -> Item:
    """Return the evening as one talk, whose lines have the command that is typed. Raises OSError and ValueError.

    It begins with a turn in which all come into the game, and has one more for each restart.
    """
    text = file.read_text(encoding="utf-8")
    people = {"O": OWNER} | {letter: name for letter, name in _NAMED.findall(text) if letter != "O"}
    parts = list(_parts(text))
    if not parts:
        raise ValueError(f"{file} is no evening: its parts are numbered, as in '1. O: say Hello!'")
    turns: list[Turn] = []
    for step in (_RESTART, *(step for part in parts for step in part.split(_BETWEEN))):
        turns += _turns(step, turns, people, file)
    written = as_written(HAMLET, "the village", FIRST_CHARACTER)
    return Item(file.stem, "evening", WrittenPlace(HAMLET), tuple(people.values()), tuple(turns), written)


def _parts(text: str) -> Iterator[str]:
    """The numbered parts, each on one line."""
    part = ""
    for line in [*text.splitlines(), ""]:
        if _PART.match(line) or not line.strip():
            if part:
                yield part
            part = _PART.sub("", line, count=1).strip() if _PART.match(line) else ""
        elif part:
            part = f"{part} {line.strip()}"


def _turns(step: str, before: list[Turn], people: dict[str, str], file: Path) -> Iterator[Turn]:
    """The turns of one step: the way to whom they speak, and what one types, with what another types at once."""
    if step == _RESTART:
        yield _turn([_line(name, "comes", "") for name in people.values()])
        return
    found, together = _WHO.match(step), _AT_ONCE.search(step)
    who = _name(people, found[1], file) if found else before[-1]["heard"][0]["who"]
    command = step[found.end() if found else 0 : together.start() if together else None]
    to = found[2] if found else None
    if not to and (resident := _TO_RESIDENT.match(command)) and not _is_with(resident[1], who, before):
        to = resident[1]
    if to:
        yield _turn([_line(who, "goes to", to)])
    other = [_typed(_name(people, together[1], file), together[2])] if together else []
    yield _turn([_typed(who, command), *other])


def _is_with(resident: str, who: str, before: list[Turn]) -> bool:
    """Whether this person went to that resident, or to a place that is named, and nowhere since."""
    own = (line for turn in reversed(before) for line in turn["heard"] if line["who"] == who)
    went = next((line for line in own if line["how"] in {"comes", "go", "goes to"}), None)
    return went is not None and went["how"] == "goes to" and (went["text"] == resident or went["text"] not in RESIDENTS)


def _name(people: dict[str, str], letter: str, file: Path) -> str:
    if letter not in people:
        raise ValueError(f"{file}: nobody is {letter}: name them in the text, as in '(O: the owner, {letter}: Bea)'")
    return people[letter]


def _typed(who: str, command: str) -> Turn:
    """A line as it is typed, and what it is to those who hear it."""
    verb, _, rest = command.partition(" ")
    if found := _TO_SOMEBODY.fullmatch(command):
        return _line(who, found[1], found[3], command) | {"to": found[2]}
    if verb == "say" and rest:
        return _line(who, "say", rest, command)
    if verb in {"pose", "emote"} and rest:
        return _line(who, "emote", rest, command)
    return _line(who, "go" if command in _DIRECTIONS else "does", command, command)


def _line(who: str, how: str, text: str, command: str = "") -> Turn:
    return {"who": who, "how": how, "text": text, "command": command}


def _turn(heard: list[Turn]) -> Turn:
    return {"heard": heard, "expect": {}}
