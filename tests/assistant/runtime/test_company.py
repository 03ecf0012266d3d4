"""Conversations that go on without the name, lines to everybody, and the hint: through real loops in one room."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.classify import (
    Attention,
    Classification,
    Manners,
    classify,
    is_for_everybody,
    is_named,
)
from mud_assistant.assistant.events.conversation import Conversations, is_farewell
from mud_assistant.assistant.events.events import ChannelSaid, Left, Said
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.runtime import attending
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Kind, Principal
from tests.assistant.living import ANN, SAGE, Life, Witness, living, reactor
from tests.assistant.refusing import BEA, CID
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, my friend."}),))
MIRA = Principal("assistant:2", "Mira", Kind.ASSISTANT)
ROOK = Principal("assistant:3", "Rook", Kind.ASSISTANT)


def hello(_: RecordedRequest) -> Step:
    return HELLO


async def together(life: Life) -> dict[str, Any]:
    """Ann, Bea and Cid in the room of Sage."""
    others = {who.name: life.world.add(who, listener=Witness()) for who in (BEA, CID)}
    return {"Ann": life.ann, **others}


async def answers(life: Life, people: dict[str, Any], *lines: str) -> list[int]:
    """The numbers of the lines, each `NAME: words`, that Sage answered."""
    answered = []
    for number, line in enumerate(lines):
        before = len(spoken(life))
        name, _, words = line.partition(": ")
        await people[name].say(words)
        await life.assistant.settled()
        if len(spoken(life)) > before:
            answered.append(number)
    return answered


def spoken(life: Life) -> list[str]:
    return [line for line in life.witness.heard if line.startswith("Sage: ")]


@pytest.mark.parametrize(
    ("lines", "due"),
    [
        (["Ann: Sage, hello", "Ann: what is that map?", "Ann: and who drew it?"], [0, 1, 2]),
        (["Ann: what is that map?"], []),
        (["Ann: Sage, hello", "Ann: Bea, have you eaten?", "Ann: what a day"], [0]),
        (["Ann: Sage, hello", "Ann: have you eaten, bea?"], [0]),
        (["Ann: Sage, hello", "Bea: It is on the wall.", "Ann: thank you, I see it"], [0]),
        (["Ann: Sage, hello", "Bea: Cid, shall we go?", "Ann: what is that map?"], [0, 2]),
        (["Ann: Sage, hello", "Bea: Ann, come along!", "Ann: in a moment"], [0]),
        (["Ann: Sage, hello", "Bea: Sage, and me?", "Ann: what is that map?", "Bea: who drew it?"], [0, 1, 2, 3]),
        (["Ann: Sage, hello", "Ann: I have to go now. Bye!", "Ann: what a day"], [0, 1]),
        (["Ann: Sage, hello", "Bea: what a day"], [0]),
    ],
)
async def test_a_conversation_goes_on_without_the_name(lines: list[str], due: list[int]) -> None:
    async with living(hello) as life:
        assert await answers(life, await together(life), *lines) == due


async def test_it_goes_on_only_as_long_as_the_owner_wants() -> None:
    async with living(hello, {"conversation_seconds": 0}) as life:
        assert await answers(life, await together(life), "Ann: Sage, hello", "Ann: what is that map?") == [0]


def said(text: str, who: Principal = ANN, **more: Any) -> Said:
    return Said(id="e", at=0.0, who=who, text=text, **more)


def test_it_ends_after_a_pause_since_the_answer_and_not_since_the_question() -> None:
    clock = Clock()
    talk = Conversations(clock.seconds, 90.0)
    meant = Attention(Classification.TRIGGER, 10, addressed=True)
    talk.heard(said("Sage, hello"), meant)
    clock.advance(600)  # a slow model
    assert talk.goes_on(said("hello?"))
    talk.ended([ANN], is_settled=False)
    assert talk.goes_on(said("hello?"))
    talk.ended([ANN], is_settled=True)
    clock.advance(90)
    assert talk.goes_on(said("and the map?"))
    assert not talk.goes_on(said("and the map?", BEA))
    assert not talk.goes_on(ChannelSaid(id="c", at=0.0, who=ANN, channel="public", text="and the map?"))
    clock.advance(1)
    assert not talk.goes_on(said("and the map?"))


def test_it_ends_when_the_player_leaves() -> None:
    talk = Conversations(lambda: 0.0, 90.0)
    talk.heard(said("Sage, hello"), Attention(Classification.TRIGGER, 10, addressed=True))
    talk.heard(Left(id="l", at=0.0, who=ANN), Attention(Classification.CONTEXT, 3))
    assert not talk.goes_on(said("hello?"))


def test_on_a_channel_it_goes_on_there() -> None:
    talk = Conversations(lambda: 0.0, 90.0)
    line = ChannelSaid(id="c", at=0.0, who=ANN, channel="Public", text="Sage, hello")
    talk.heard(line, classify(line, Manners("assistant:1", "Sage")))
    assert talk.goes_on(replace(line, channel="public", text="and the map?"))
    assert not talk.goes_on(said("and the map?"))


@pytest.mark.parametrize(
    "text", ["Bye!", "good night, Sage", "See you later", "Goodbye", "ok I have to go", "farewell"]
)
def test_a_farewell(text: str) -> None:
    assert is_farewell(text)


@pytest.mark.parametrize(
    "text",
    ["where do I have to go?", "I have to go to the mill and see to the old wheel, so tell me of the road", "hello"],
)
def test_no_farewell(text: str) -> None:
    assert not is_farewell(text)


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("Bert, have you eaten?", True),
        ("bert: hello", True),
        ("have you eaten, bert?", True),
        ("has Bert eaten?", False),
        ("What do you think of Bert?", False),
        ("Bert is a fool", False),
        ("Hello Bert", True),
        ("Bert come here", True),
        ("Tom, come", True),
        ("Bert's bread is good", False),
        ("the old map", False),
        ("Old maps are dusty", False),
        ("bertram is here", False),
        ("what is that?", False),
    ],
)
def test_a_line_that_names_somebody(text: str, is_so: bool) -> None:
    assert is_named(text.replace("Bert's bread", "the bread"), ["Bert", "Old Tom"]) is is_so


def test_a_pose_that_names_somebody_anywhere_is_for_them() -> None:
    assert is_named("bows to Bert deeply.", ["Bert"], anywhere=True)
    assert not is_named("bows deeply.", ["Bert"], anywhere=True)


@pytest.mark.parametrize(
    "text",
    ["Hello everyone", "hi all", "Good evening, folks!", "does anybody know the miller?", "Everyone, listen!",
     "can someone help me?", "who here knows the way?"],
)  # fmt: skip
def test_a_line_to_everybody(text: str) -> None:
    me = Manners("assistant:1", "Sage")
    assert classify(said(text), me) == Attention(Classification.TRIGGER, 8, addressed=True)
    assert not is_for_everybody(said(text, to_other=True), me)
    assert classify(said(text), replace(me, to_everybody=False)).verdict is Classification.CONTEXT


@pytest.mark.parametrize("text", ["hello Bea", "that is all", "everyone left", "nobody knows", "the people are kind"])
def test_no_line_to_everybody(text: str) -> None:
    assert classify(said(text), Manners("assistant:1", "Sage")).verdict is Classification.CONTEXT


async def test_a_line_to_everybody_is_answered_by_a_character_that_is_alone_of_its_kind() -> None:
    async with living(hello) as life:
        assert await answers(life, await together(life), "Ann: Hello everyone") == [0]


@dataclass
class Three:
    """Sage, Mira and Rook in one room, with Ann and Bea."""

    here: Village
    runners: list[AssistantRunner] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def say(self, text: str) -> list[str]:
        """What the characters said after Ann said this."""
        before = len(self.here.witness.heard)
        await self.here.ann.say(text)
        await DeferredList([Deferred.fromCoroutine(runner.settled()) for runner in self.runners])
        return [line for line in self.here.witness.heard[before:] if not line.startswith("Bea")]


@asynccontextmanager
async def three(folder: Path, **settings: Any) -> AsyncIterator[Three]:
    """Three characters that live in one household."""
    async with village(folder) as here, serve(FakeOllama(reactor, hello), reactor) as url:
        room = Three(here)
        here.world.add(BEA, listener=Witness())
        for who in (SAGE, MIRA, ROOK):
            body = here.home if who is SAGE else here.world.add(who)
            model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
            config = merged({"model": model, "assistant": {"name": who.name, "join_seconds": 0, **settings}})
            place = Embodiment(
                who,
                body,
                notify=lambda to, line: room.told.append(f"{to.name}: {line}"),
                where=lambda body=body: body.room.key,  # type: ignore[misc]
            )
            runner = here.service.start(place, config)
            body.listener = BodyListener(who, runner.hear, body.alone_with, body.others_than)
            room.runners.append(runner)
        for runner in room.runners:
            await runner.settled()
        yield room


async def test_a_line_to_everybody_is_answered_by_one_of_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attending, "LONGEST_DELAY", 0.05)
    async with three(tmp_path, room_pause_seconds=0) as room:
        first = await room.say("Hello everyone")
        assert len(first) == 1
        again = [await room.say(f"does anybody know number {number}?") for number in range(6)]
        assert [len(lines) for lines in again] == [1] * 6
        assert len({line.partition(":")[0] for lines in again for line in lines}) > 1  # not always the same one
        assert await room.say("Mira, hello") == ["Mira: Hello, my friend."]
        assert await room.say("and how are you?") == ["Mira: Hello, my friend."]


async def test_a_player_who_is_not_answered_is_told_once_how_to_talk_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attending, "HINT_AFTER", 0.02)
    async with three(tmp_path) as room:
        for _ in range(3):
            await room.say("what a fine day")
            await deferLater(reactor, 0.1)
        assert len(room.told) == 1
        assert room.told[0].startswith("Ann: (")
        assert "is an AI character. In company it answers those who say its name" in room.told[0]


@pytest.mark.parametrize("lines", [["Bea, what a day"], ["Sage, hello", "Bea, what a day"], ["what a day", "*"]])
async def test_who_is_answered_or_speaks_to_somebody_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    monkeypatch.setattr(attending, "HINT_AFTER", 0.02)
    async with living(hello) as life:
        people = await together(life)
        for line in lines:
            await people["Bea" if line == "*" else "Ann"].say(line)
        await life.assistant.settled()
        await deferLater(reactor, 0.1)
        assert [line for who, line in life.told if who == ANN.id] == []


async def test_an_owner_can_have_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attending, "HINT_AFTER", 0.02)
    async with living(hello, {"hint": False}) as life:
        await together(life)
        await life.say("what a day")
        await deferLater(reactor, 0.1)
        assert life.told == []


async def test_who_comes_in_is_greeted_once_without_the_model() -> None:
    async with living(hello, {"greeting": "Welcome, {name}."}) as life:
        for _ in range(2):
            await life.ann.move("south")
            await life.ann.move("north")
            await life.assistant.settled()
        assert spoken(life) == ["Sage: Welcome, Ann."]
        assert life.fake.chats == []


YOU_AGAIN = {"greeting": "Hush, {{ user }}.", "more_greetings": ("You again, {{user}}!", "<USER>! {{char}} nods.")}


async def come_in(life: Life, *people: Any) -> None:
    for body in people or (life.ann,):
        await body.move("south")
        await body.move("north")
        await life.assistant.settled()
        await deferLater(reactor, 0.01)


async def test_a_stranger_is_never_greeted_as_known_and_the_name_stands_in_every_greeting() -> None:
    async with living(hello, {**YOU_AGAIN, "greet_hours": 0, "room_pause_seconds": 0}) as life:
        people = list((await together(life)).values())
        await deferLater(reactor, 0.05)
        await come_in(life, *people[:2])
        *strangers, ann, bea = [line.removeprefix("Sage: ") for line in spoken(life)]
        assert strangers == ["Hush, Ann.", "Hush, Bea.", "Hush, Cid."]
        assert (ann, bea) in {("You again, Ann!", "Bea! Sage nods."), ("Ann! Sage nods.", "You again, Bea!")}


async def test_two_strangers_in_a_row_are_not_greeted_in_the_same_words() -> None:
    async with living(hello, {"greeting": "Welcome to the books.", "room_pause_seconds": 0}) as life:
        await together(life)
        await deferLater(reactor, 0.05)
        await come_in(life)
        first, second, third = [line.removeprefix("Sage: ") for line in spoken(life)]
        assert first == "Welcome to the books."
        assert "Bea" in second
        assert third == first or "Cid" in third


async def test_a_friend_is_not_greeted_in_the_words_that_the_last_one_heard() -> None:
    settings = {**YOU_AGAIN, "more_greetings": ("One.", "Two.", "Three."), "greet_hours": 0, "room_pause_seconds": 0}
    async with living(hello, settings) as life:
        for _ in range(30):
            await come_in(life)
        friends = spoken(life)[1:]
        assert set(friends) == {"Sage: One.", "Sage: Two.", "Sage: Three."}
        assert all(one != other for one, other in pairwise(friends))


async def test_who_has_told_it_something_before_is_known() -> None:
    storage = in_memory(reactor.seconds, 500, remembering(("Sage",)))
    async with living(hello, storage=storage) as life:
        await life.say("Sage, my brother keeps bees in Lindby.")
    async with living(hello, {**YOU_AGAIN, "room_pause_seconds": 0}, storage=storage) as life:
        await come_in(life)
        assert spoken(life)[-1] == "Sage: You again, Ann!"


@pytest.mark.parametrize("forgets", [False, True])
async def test_who_was_greeted_is_not_greeted_again_after_a_restart_but_once_forgotten(
    tmp_path: Path, forgets: bool
) -> None:
    """Over the same journal on disk: the second life knows whom the first greeted, until that is forgotten."""
    heard: list[list[str]] = []
    for number in range(2):
        file = JournalFile(tmp_path / "journal.sqlite", reactor, reactor.seconds, JournalConfig())
        await file.open()
        storage = await file.storage_of(SAGE.id, 100)
        async with living(hello, {**YOU_AGAIN, "room_pause_seconds": 0}, storage=storage) as life:
            await come_in(life)
            heard.append(spoken(life))
            if forgets and number == 0:
                await life.assistant.forget(ANN)
        await file.close()
    assert heard == [["Sage: Hush, Ann."], ["Sage: Hush, Ann."] if forgets else []]


async def test_who_comes_in_is_not_greeted_unless_the_owner_wrote_a_greeting() -> None:
    async with living(hello) as life:
        await life.ann.move("south")
        await life.ann.move("north")
        await life.assistant.settled()
        assert spoken(life) == []


def test_a_private_answer_is_no_part_of_a_turn_that_all_heard() -> None:
    talk, alone = Conversations(lambda: 0.0, 60.0), frozenset({ANN.id})
    talk.answer_turn(ANN.id, "The key is under the oak.", alone)
    assert talk.turn_before(ANN.id, None) == ""
    talk.begin_turn(ANN.id, "Where is the mill?", None)
    talk.answer_turn(ANN.id, "The key is under the oak.", alone)
    assert talk.turn_before(ANN.id, None) == "Where is the mill?"
    talk.begin_turn(ANN.id, "Where is the key?", alone)
    talk.answer_turn(ANN.id, "Under the oak.", alone)
    assert talk.turn_before(ANN.id, None) == ""
    assert talk.turn_before(ANN.id, alone) == "Where is the key? Under the oak."
