"""Answers come in the manner of the question, whatever a model chose; characters leave room between their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.events.conversation import MAX_WAIT, Floor
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.loop.speech.manner import in_manner
from mud_assistant.llm import ToolCall
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Registry
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from tests.assistant.living import Life, Witness, living
from tests.assistant.refusing import BEA
from tests.assistant.runtime.test_company import three

pytestmark = pytest.mark.usefixtures("reactor_baseline")
EVERYTHING = Registry([*WORLD_TOOLS, *ACCOUNT_TOOLS])
SAY = Call("say", {"text": "It is upstairs."})
WHISPER = Call("whisper", {"target": "Ann", "text": "It is upstairs."})
PAGE = Call("page", {"target": "Ann", "text": "It is upstairs."})


async def answer(life: Life, how: str, text: str) -> str:
    """What Ann and Bea notice of the answer."""
    bea = Witness()
    life.world.add(BEA, listener=bea)
    match how:
        case "say":
            await life.ann.say(text)
        case "whisper":
            await life.ann.whisper("Sage", text)
        case "page":
            await life.ann.page("Sage", text)
        case _:
            await life.ann.speak_on("public", text)
    await life.assistant.settled()
    private = [line for line in bea.heard if line.startswith("Sage")]
    return f"{life.witness.heard[-1]} ({len(private)})"


@pytest.mark.parametrize(
    ("how", "text", "call", "heard"),
    [
        ("say", "Sage, where is the map?", WHISPER, "Sage: It is upstairs. (1)"),
        ("say", "Sage, where is the map?", PAGE, "Sage: It is upstairs. (1)"),
        ("say", "Sage, whisper to me where it is", WHISPER, "Sage whispers: It is upstairs. (0)"),
        ("whisper", "where is the map?", SAY, "Sage whispers: It is upstairs. (0)"),
        ("page", "where is the map?", SAY, "Sage pages: It is upstairs. (0)"),
        ("page", "where is the map?", WHISPER, "Sage pages: It is upstairs. (0)"),
        ("channel", "Sage, where is the map?", SAY, "Sage on public: It is upstairs. (1)"),
        ("channel", "Sage, where is the map?", PAGE, "Sage on public: It is upstairs. (1)"),
        ("say", "Sage, hello", Call("emote", {"text": "The old map shows the mill."}),
         "Sage: The old map shows the mill. (1)"),
        ("say", "Sage, hello", Call("emote", {"text": "smiles at the old map."}), "Sage smiles at the old map. (1)"),
    ],
)  # fmt: skip
async def test_an_answer_comes_in_the_manner_of_the_question(how: str, text: str, call: Call, heard: str) -> None:
    async with living([Reply(calls=(call,))], registry=EVERYTHING) as life:
        assert await answer(life, how, text) == heard
        assert len(life.fake.chats) == 1
        assert isinstance(life.witness.outcomes[-1], Answered)


async def test_the_stream_shows_what_was_done_and_not_what_the_model_chose() -> None:
    async with living([Reply(calls=(WHISPER,)), Reply(calls=(SAY,))], registry=EVERYTHING) as life:
        await life.say("Sage, where is the map?")
        await life.say("Sage, and the key?")
        assert "whispered" not in str(life.fake.chats[-1].messages[-4:])


async def test_an_errand_to_another_is_left_as_it_is() -> None:
    call = Call("whisper", {"target": "Bea", "text": "Ann waits for you."})
    async with living([Reply(calls=(call,))]) as life:
        bea = Witness()
        life.world.add(BEA, listener=bea)
        await life.say("Sage, tell Bea that I wait")
        assert bea.heard[-1] == "Sage whispers: Ann waits for you."


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ('"Come in."', "Come in."),
        ('Sage says, "Come in."', "Come in."),
        ("I am the keeper of this place.", "I am the keeper of this place."),
        ("my map is old", "my map is old"),
        ("You should go north.", "You should go north."),
        ("*Hello, traveller!*", "Hello, traveller!"),
    ],
)
def test_an_emote_that_is_speech_is_said(act: str, words: str) -> None:
    made = in_manner(ToolCall("c", "emote", {"text": act}), None, {"say", "emote"}, "Sage")
    assert made == ToolCall("c", "say", {"text": words})


@pytest.mark.parametrize(
    "act",
    ["smiles", "Nods slowly.", "with a sigh, opens the book", 'looks up and says "Hm."', "'s eyes widen",
     "in silence, turns", "points at the map: it is old", "thinks, then shakes its head"],
)  # fmt: skip
def test_an_act_stays_an_act(act: str) -> None:
    call = ToolCall("c", "emote", {"text": act})
    assert in_manner(call, None, {"say", "emote"}, "Sage") is call


def test_a_call_that_cannot_be_read_or_made_stays_as_it_is() -> None:
    broken = ToolCall("c", "emote", {}, "it was cut off")
    assert in_manner(broken, None, {"say"}, "Sage") is broken
    silent = ToolCall("c", "emote", {"text": "I am here."})
    assert in_manner(silent, None, {"emote"}, "Sage") is silent


def test_lines_in_one_room_come_apart_and_other_rooms_do_not_wait() -> None:
    clock = Clock()
    floor, spoken = Floor(clock), list[float]()
    assert floor.turn("#1", 1.5) is None
    for _ in range(2):
        turn = floor.turn("#1", 1.5)
        assert turn is not None
        turn.addCallback(lambda _: spoken.append(clock.seconds()))
    assert floor.turn("#2", 1.5) is None
    assert floor.turn("", 1.5) is None
    assert floor.turn("#1", 0) is None
    clock.pump([0.5] * 6)
    assert spoken == [1.5, 3.0]


def test_a_turn_is_waited_for_only_so_long_and_can_be_given_up() -> None:
    clock = Clock()
    floor = Floor(clock)
    turns = [floor.turn("#1", 5.0) for _ in range(4)]
    times: list[float] = []
    for turn in turns[1:]:
        assert turn is not None
        turn.addCallbacks(lambda _: times.append(clock.seconds()), lambda _: None)
    assert turns[1] is not None
    turns[1].cancel()
    clock.advance(MAX_WAIT)
    assert times == [MAX_WAIT] * 2
    assert clock.getDelayedCalls() == []


async def test_three_characters_leave_room_between_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []
    take_turn = Floor.turn

    def turn(floor: Floor, where: str, pause_seconds: float) -> Deferred[None] | None:
        asked.append((where, pause_seconds))
        return take_turn(floor, where, pause_seconds)

    monkeypatch.setattr(Floor, "turn", turn)
    async with three(tmp_path, room_pause_seconds=0.2) as room:
        lines = await room.say("Sage, Mira and Rook, hello")
        assert sorted(line.partition(":")[0] for line in lines) == ["Mira", "Rook", "Sage"]
    assert len(asked) == 3
    assert set(asked) == {(asked[0][0], 0.2)}
    assert asked[0][0]  # all in one room that is known: a turn without a room is given at once
