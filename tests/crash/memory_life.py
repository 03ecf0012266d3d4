"""One life of a memory that is killed: it keeps, recalls, sleeps, corrects, drops and forgets, and tells of each deed.

What it tells stands for what a caller was told: `begin` before a deed, `done` when the product said that it is safe.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said, Whispered
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import StoredJournal, StreamChange, StreamEntry
from mud_assistant.assistant.memory.rights import Rights
from mud_assistant.assistant.memory.sleep.night import Sleeper
from mud_assistant.assistant.memory.sleep.plan import QuietSigns, SleepPlan, list_parts_left
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.llm import Message, user
from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.memories import Memory, MemoryKind, memory_id
from tests.crash.memory_evidence import Deed, Evidence

SAGE = Principal("assistant:1", "Sage", Kind.ASSISTANT)
PEOPLE = tuple(Principal(f"player:{name.lower()}", name) for name in ("Ann", "Bea", "Cid"))
TRIGGER = Attention(Classification.TRIGGER, 9, addressed=True)
NOON, DAY = 1_800_000_000.0, 86_400.0
#: How long a scripted model takes, in seconds: nights are met half-way.
THINKING = 0.002


@dataclass
class MemoryLife:
    """One process. `told` is where it tells; `known` is what all processes before it told."""

    folder: Path
    number: int
    known: Sequence[Deed]
    told: int
    reactor: Any
    is_last: bool = False
    chance: Random = field(init=False)
    days: float = 0.0
    words: int = 0

    def __post_init__(self) -> None:
        """Draw from chances of its own."""
        self.chance = Random(self.number)  # noqa: S311

    def tell(self, *words: object) -> None:
        """Tell one thing; it is told when this returns, whatever happens then."""
        os.write(self.told, json.dumps(words).encode() + b"\n")

    def wall(self) -> float:
        """Each life begins on a new day, and each of its nights ends one."""
        return NOON + (100 * self.number + self.days) * DAY + float(self.reactor.seconds()) % DAY

    async def live(self) -> None:
        """Check what the lives before left, then do deeds until the end."""
        path = self.folder / "journal.sqlite"
        file = JournalFile(path, self.reactor, self.wall, JournalConfig())
        opened = await file.open()
        self.storage = await file.storage_of(SAGE.id, 500, SAGE.name)
        if type(opened).__name__ != "Sound":
            self.tell("wrong", f"the journal was opened as {opened}")
        self.journal = cast(StoredJournal, self.storage.journal)
        self.history = History(lambda messages: len(str(messages)) // 4, 100_000)
        self.history.load(self.storage.stream)
        self.rights = Rights(self.history, self.storage.memories, self.storage.mutes, self.journal)
        self.sleeper = Sleeper(
            self.storage.sleep, self.storage.sleep, self.dream, SAGE, SleepPlan(sleep_calls=20, importance=1)
        )
        await self._settle()
        evidence = Evidence(self.known, self.storage, self.history, self.folder)
        for wrong in await evidence.look():
            self.tell("wrong", wrong)
        self.tell("ready", await evidence.counted())
        if not self.is_last:
            await self._deeds()
        await file.close()
        self.tell("over")

    async def _settle(self) -> None:
        """Close the runs that were left open, and deal with what is pending."""
        while (run := await self.journal.interrupted()) is not None:
            await self.journal.close_run(run.id, Answered(("say",)))
        if pending := await self.journal.pending():
            await self.journal.close_run(await self.journal.open_run(pending), Answered(("say",)))

    async def _deeds(self) -> None:
        deeds: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (10, self.hear),
            (4, self.note),
            (4, self.recall),
            (4, self.supersede),
            (1, self.drop),
            (1, self.forget),
            (4, self.sleep),
        ]
        weights = [weight for weight, _ in deeds]
        nights: list[Deferred[None]] = []
        for _ in range(5):
            await self.hear()
        while True:
            deed = self.chance.choices([deed for _, deed in deeds], weights)[0]
            if deed == self.sleep:
                nights = [night for night in nights if not night.called]
                nights.append(Deferred.fromCoroutine(cast(Any, self.sleep())))
            else:
                await deed()

    def word(self) -> str:
        """A word that was never said before, and that no other shares its end with."""
        self.words += 1
        return "".join(Random(f"{self.number}.{self.words}").choices("bcdfghjklmnpqtvwxz", k=14))  # noqa: S311

    async def hear(self) -> None:
        """Somebody says something, aloud or in private; it is answered, and stands in the stream."""
        who, word, private = self.chance.choice(PEOPLE), self.word(), self.chance.random() < 0.4
        text = f"Remember that the {self.chance.choice(('mill', 'well', 'inn', 'ferry'))} of {who.name} is {word}."
        made = Whispered if private else Said
        event = made(id=f"{self.number}.{self.words}", at=self.wall(), who=who, text=text)
        self.tell("begin", "keep", word, who.id)
        await self.journal.accept(event, TRIGGER)
        self.tell("done", "keep", word, who.id)
        if self.chance.random() < 0.1:
            self.sleeper.wake()
        run_id = await self.journal.open_run(await self.journal.pending())
        audience = frozenset({who.id}) if private else None
        entry = StreamEntry((user(f'{who.name} says: "{text}"'),), 8, (event.id,), 1, (who.id,), audience=audience)
        await self.journal.close_run(run_id, Answered(("say",)), StreamChange((entry,)))
        self.tell("done", "talk", word, who.id)

    async def note(self) -> None:
        """The character remembers something for somebody."""
        who, word = self.chance.choice(PEOPLE), self.word()
        self.tell("begin", "keep", word, who.id)
        await self.storage.memories.keep(self._fact(who, f"{who.name} wishes for {word}."))
        self.tell("done", "keep", word, who.id)

    def _fact(self, who: Principal, text: str) -> Memory:
        return Memory(
            memory_id(MemoryKind.FACT, who.id, text), text, MemoryKind.FACT, self.wall(), who.id, who.name,
            importance=9, authority=1, sources=frozenset({who.id}),
        )  # fmt: skip

    async def recall(self) -> None:
        """Somebody asks: this may go on while other things happen."""
        who = self.chance.choice(PEOPLE)
        work = self.storage.memories.recall("remember the mill and the wish", hearers=frozenset({who.id}), asker=who.id)
        if self.chance.random() < 0.5:
            await work
        else:
            Deferred.fromCoroutine(cast(Any, work)).addErrback(lambda failed: self.tell("wrong", str(failed)))

    async def supersede(self) -> None:
        """Somebody corrects what they wished for."""
        who, word = self.chance.choice(PEOPLE), self.word()
        old = [one for one in await self.storage.memories.about(who.id) if one.kind is MemoryKind.FACT]
        if old := [one for one in old if not one.superseded_by]:
            new = self._fact(who, f"{who.name} wishes no more for that, but for {word}.")
            self.tell("begin", "supersede", word, who.id, old[0].id, new.id)
            assert await self.storage.memories.supersede(old[0].id, new)
            self.tell("done", "supersede", word, who.id, old[0].id, new.id)

    async def drop(self) -> None:
        """Somebody deletes one thing that is known of them."""
        who = self.chance.choice(PEOPLE)
        known = (await self.rights.see(who)).memories
        if theirs := [one for one in known if one.kind is not MemoryKind.REFLECTION and one.who == who.id]:
            chosen = self.chance.choice(theirs)
            self.tell("begin", "drop", chosen.id, chosen.text.rstrip(".").split()[-1])
            await self.sleeper.forgotten(who.id)
            await self.rights.drop(who, chosen.id)
            await self.sleeper.forgotten(who.id)
            self.tell("done", "drop", chosen.id, chosen.text.rstrip(".").split()[-1])

    async def forget(self) -> None:
        """Somebody asks to be forgotten, as `Assistant.forget` does it."""
        who = self.chance.choice(PEOPLE)
        self.tell("begin", "forget", who.id, [])
        everything = [one for person in PEOPLE for one in await self.storage.memories.about(person.id)]
        gone = {one.id: one for one in everything if one.is_from(who.id)}
        lost = list_parts_left(gone.values(), gone)
        await self.sleeper.forgotten(who.id)
        await self.rights.forget(who)
        await self.sleeper.forgotten(who.id)
        self.tell("done", "forget", who.id, lost)

    async def sleep(self) -> None:
        """A night, which other deeds may interrupt."""
        self.days += 1
        now = self.wall()
        self.tell("begin", "night")
        end = await self.sleeper.maybe(QuietSigns(now, now - 3600))
        self.tell("done", "night", end.value)

    async def dream(self, messages: Sequence[Message], _: JSONObject) -> str:
        """Make a profile, insights and verdicts of all lines."""
        await deferLater(self.reactor, THINKING)
        words = [word.strip('."\\') for message in messages[-1:] for word in message.text.split()]
        told = " and ".join(word for word in words if len(word) == 14 and word.isalpha())
        lines = list(range(1, 61))
        insights = [
            {"text": f"They care for {told[:200]}.", "lines": lines},
            {"text": f"They want {told[:60]}.", "lines": [1, 2]},
        ]
        pairs = [{"pair": number, "holds": self.chance.choice(("newer", "both"))} for number in range(1, 9)]
        return json.dumps({"profile": f"They told of {told}.", "insights": insights, "pairs": pairs})
