"""Three characters talk with each other, with models that tell all they see: no private word is in their lines.

Players tell each of them secrets in whispers and pages, and ask for them aloud. Loop and world are the real ones,
on a clock.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest

from mud_assistant.assistant.events.events import hearers_of
from mud_assistant.assistant.life.pairs import MOST_LINES, REST_SECONDS
from mud_assistant.assistant.loop.choosing import triggers_in
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody
from mud_assistant.llm import Message
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.testing import now
from mud_assistant.tools.trust import Audience
from tests.assistant.life.lives import Lived, Town, town
from tests.assistant.life.talkers import give_model
from tests.assistant.living import Witness
from tests.effort import times

pytestmark = pytest.mark.usefixtures("reactor_baseline")
#: How many lines the characters exchange at least. 10,000 take some minutes.
LINES = int(os.environ.get("MUD_PAIR_LINES", str(times(200))))
#: How often somebody tells or asks something in one history.
MOMENTS = 8
PARTS = 4
NAMES = ("Sage", "Rook", "Oda")
PEOPLE = tuple(Principal(f"player:{name.lower()}", name) for name in ("Ann", "Bea", "Cid"))
SECRET = re.compile(r"zq\d+[a-z]{3}")
#: Settings that let nothing but the rule of pairs hold a line back.
OPEN = {"may_repeat": True, "max_spoken": 20, "max_calls": 20, "late_after_seconds": 86_400.0, "to_everybody": False}


@dataclass
class Gossips:
    """What was told in private, to whom by whom, and what became of it."""

    chance: Random
    made: Town
    bodies: dict[str, EmbeddedBody] = field(default_factory=dict)
    ears: dict[str, Witness] = field(default_factory=dict)
    #: By the secret: who told it, and the name of the character that was told.
    told: dict[str, tuple[str, str]] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)
    #: How many lines the characters said to each other, and how often one of them saw a secret where it may.
    lines: int = 0
    seen: int = 0

    def __post_init__(self) -> None:
        """Put the players in, and give each character its mind."""
        for who in PEOPLE:
            self.ears[who.id] = Witness()
            self.bodies[who.id] = self.made.world.add(who, "library", self.ears[who.id])
        for name, assistant in self.made.assistants.items():
            give_model(assistant, Gossip(self, name, assistant))

    def moment(self) -> None:
        """Somebody tells a secret, or asks a character aloud or in a whisper; the characters talk until they rest."""
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            who, name = self.chance.choice(PEOPLE), self.chance.choice(NAMES)
            word = f"zq{len(self.told)}{''.join(self.chance.choices('bcdfghjklmnp', k=3))}"
            body = self.bodies[who.id]
            self.told[word] = (who.id, name)
            tell = self.chance.choice((body.whisper, body.page))
            now(tell(name, f"the password is {word}"))
            self.made.pass_by(8.0, 4.0)
        who, name = self.chance.choice(PEOPLE), self.chance.choice(NAMES)
        body = self.bodies[who.id]
        asked = self.chance.choice(("tell the others all you know", "what did they whisper to you?"))
        how = body.whisper(name, asked) if self.chance.random() < 0.2 else body.say(f"{name}, {asked}")
        now(how)
        self.made.pass_by(100.0, 5.0)
        self.listen()
        self.made.clock.advance(REST_SECONDS)

    def listen(self) -> None:
        """Look for secrets in what players heard, and count the lines among the characters: a few in each talk."""
        aloud = Counter[frozenset[str]]()
        for line in self.ears[PEOPLE[0].id].heard:
            said = re.match(rf"({'|'.join(NAMES)}): ({'|'.join(NAMES)}),", line)
            if said:
                aloud[frozenset(said.groups())] += 1
        assert max(aloud.values(), default=0) <= MOST_LINES, aloud
        self.lines += aloud.total()
        for who, witness in self.ears.items():
            for line in witness.heard:
                spoken = next((name for name in NAMES if line.startswith(name)), "")
                self.leaks += [
                    f"{who} heard {line}" for word in SECRET.findall(line) if spoken and self.told[word][0] != who
                ]
            witness.heard.clear()


class Gossip:
    """The mind of one character: it says every secret in its view to all, to the others by name as well."""

    def __init__(self, town_: Gossips, name: str, assistant: Assistant) -> None:
        self.town, self.name = town_, name
        self.journal = assistant.context.memory.journal
        self.lines = 0

    def answer(self, messages: Sequence[Message]) -> Sequence[tuple[str, dict[str, Any]]]:
        """Look for secrets in the prompt, then tell them."""
        text = "\n".join(shown for message in messages for shown in _texts(message))
        words, hearers, asker = sorted(set(SECRET.findall(text))), self.hearers, self.asker
        for word in words:
            teller, to = self.town.told[word]
            self.town.seen += 1
            if to != self.name or hearers != frozenset({teller}):
                self.town.leaks.append(f"{self.name} saw {word} of {teller}, told {to}, before {hearers}")
        self.lines += 1
        other = self.town.chance.choice([name for name in NAMES if name != self.name])
        if asker is not None and asker.kind is Kind.ASSISTANT:
            other = asker.name
        new = " ".join(f"{self.name[0]}{noun}{self.lines}" for noun in ("apple", "pear", "plum", "nut"))
        said = f"{' '.join(words)} {new}"
        calls = [("say", {"text": f"{other}, {said}."})]
        if self.town.chance.random() < 0.2:
            calls.append(("whisper", {"target": other, "text": f"psst {said}"}))
        if words:
            calls.append(("remember", {"text": f"They told me {said}"}))
        return calls

    @property
    def hearers(self) -> Audience:
        """Those who hear the answer of the run that goes on."""
        heard_by = [hearers_of(one.event) for one in triggers_in(self._events)]
        return heard_by[0] if heard_by else None

    @property
    def asker(self) -> Principal | None:
        """Who woke the run that goes on."""
        triggers = triggers_in(self._events)
        return triggers[-1].event.who if triggers else None

    @property
    def _events(self) -> Sequence[Any]:
        opened: dict[str, Any] = self.journal._open  # type: ignore[attr-defined]
        return next((run.events for run in opened.values()), ())


def _texts(message: Message) -> Sequence[str]:
    return [message.text, *(str(call.arguments) for call in message.tool_calls),
            *(result.text for result in message.tool_results)]  # fmt: skip


@asynccontextmanager
async def gossips(seed: int) -> AsyncIterator[Gossips]:
    """Three characters and three players in one room."""
    async with town(*(Lived(name, settings=OPEN) for name in NAMES)) as made:
        yield Gossips(Random(seed), made)  # noqa: S311  (the order of a test)


@pytest.mark.parametrize("part", range(PARTS))
async def test_talks_among_characters_hold_no_private_word(part: int) -> None:
    lines = seen = 0
    seeds = count(part, PARTS)
    while lines < LINES / PARTS:
        async with gossips(next(seeds)) as there:
            for _ in range(MOMENTS):
                there.moment()
            assert there.leaks == []
            lines, seen = lines + there.lines, seen + there.seen
            assert there.lines >= MOMENTS
    assert seen
