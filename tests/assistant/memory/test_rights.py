"""What a player may ask of an assistant, and what somebody may allow it."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal.tables.memories import SHOWN
from mud_assistant.assistant.loop.react import react
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Denied, Given, Kind, Principal, Registry
from mud_assistant.tools.trust import label_of
from mud_assistant.tools.verbs import GAME_COMMAND_TOOLS, WORLD_TOOLS
from tests.assistant.journal.keeping import fact
from tests.assistant.living import ANN, Witness, living
from tests.crash.lives import lives

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello."}),))
BEA = Principal("player:2", "Bea")
CARL = Principal("player:3", "Carl", Kind.PLAYER, 3)
ALL_TOOLS = Registry([*WORLD_TOOLS, *GAME_COMMAND_TOOLS])


def noting(text: str) -> Reply:
    return Reply(calls=(Call("remember", {"text": text}), Call("say", {"text": f"I noted: {text}"})))


async def test_a_player_sees_what_is_remembered_of_him_and_only_of_him() -> None:
    async with living([noting("Ann likes tea."), noting("Bea likes rain.")]) as life:
        await life.say("Sage, I like tea")
        bea = life.world.add(BEA, listener=Witness())
        await bea.say("Sage, I like rain")
        await life.assistant.settled()
        seen = await life.assistant.rights.see(ANN)
        assert [memory.text for memory in seen.memories] == ["Ann likes tea.", "Sage, I like tea"]
        assert seen.entries == 3  # their line, the answer, and the answer to Bea, who heard it with their words in view
        assert [memory.text for memory in (await life.assistant.rights.see(BEA)).memories] == [
            "Bea likes rain.",
            "Sage, I like rain",
        ]


async def test_what_others_told_of_a_player_in_private_is_not_shown_to_them() -> None:
    async with living([HELLO]) as life:
        told = {None: "Ann likes tea.", frozenset({BEA.id}): "Ann owes me money.", frozenset({ANN.id}): "Ann is shy."}
        for audience, text in told.items():
            await life.assistant.context.memory.memories.keep(fact(text, BEA, audience, about=(ANN.id,)))
        seen = await life.assistant.rights.see(ANN)
        assert sorted(memory.text for memory in seen.memories) == ["Ann is shy.", "Ann likes tea."]


async def test_a_muted_player_is_neither_heard_nor_remembered_until_he_is_unmuted() -> None:
    async with living([HELLO]) as life:
        await life.assistant.rights.mute(ANN)
        await life.say("Sage, hello")
        await life.whisper("do you hear me?")
        assert life.fake.chats == []
        assert "hear me" not in str(life.assistant.context.memory.history.messages())
        await life.assistant.rights.unmute(ANN)
        await life.say("Sage, and now?")
        assert life.witness.heard == ["Sage: Hello."]
        assert "hello" not in str(life.fake.chats[0].messages)


async def test_a_mute_outlives_the_process(tmp_path: Any) -> None:
    async with lives(tmp_path / "journal.sqlite", [HELLO]) as place:
        async with place.one() as (assistant, _):
            await assistant.rights.mute(ANN)
        async with place.one() as (assistant, _):
            await assistant.rights.load()
            assert assistant.rights.muted == {ANN.id}


async def test_what_the_character_repeated_in_its_own_words_is_forgotten_with_whose_words_it_had_in_view() -> None:
    kin = "Her kin dwell where stone is cut."
    noted = Reply(calls=(Call("remember", {"text": f"It is known: {kin}"}), Call("say", {"text": "So it is."})))
    async with living([HELLO, Reply(calls=(Call("say", {"text": kin}),)), noted, HELLO]) as life:
        await life.say("Sage, my brother lives at the quarry")
        bea = life.world.add(BEA, listener=Witness())
        for line in ("Sage, who lives nearby?", "Sage, keep that in mind"):
            await bea.say(line)
            await life.assistant.settled()
        assert "stone is cut" in str(life.assistant.context.memory.history.messages())
        await life.assistant.forget(ANN)
        assert "stone is cut" not in str(life.assistant.context.memory.history.messages())
        assert "who lives nearby" in str(life.assistant.context.memory.history.messages())
        seen = (await life.assistant.rights.see(BEA)).memories
        assert not [memory.text for memory in seen if "stone is cut" in memory.text]
        await bea.say("Sage, what do you know of the stone that is cut?")
        await life.assistant.settled()
        assert "kin dwell" not in str(life.fake.chats[-1].messages)


async def test_what_was_concluded_of_a_memory_that_is_deleted_leaves_the_stream_with_it() -> None:
    async with living([HELLO]) as life:
        context, tea = life.assistant.context, fact("Ann likes tea.", ANN)
        conclusion = fact("Ann should be offered tea.", ANN, made_of=(tea.id,))
        others = fact("The mill is shut.", ANN)
        for memory in (tea, conclusion, others):
            await context.memory.memories.keep(memory)
            shown = [f"You remember: {memory.text}"]
            context.memory.history.perceive(shown, [SHOWN + memory.id], 5, labels=[label_of(ANN)])
        assert await life.assistant.drop(ANN, tea.id) == len((tea, conclusion))
        assert "tea" not in str(context.memory.history.messages())
        assert "The mill is shut." in str(context.memory.history.messages())


async def test_who_is_forgotten_is_in_no_prompt_no_memory_and_no_record() -> None:
    async with living([noting("Ann keeps bees."), HELLO]) as life:
        await life.say("Sage, I keep bees")
        forgotten = await life.assistant.forget(ANN)
        assert (forgotten.memories, forgotten.entries, forgotten.runs) == (2, 2, 1)
        bea = life.world.add(BEA, listener=Witness())
        await bea.say("Sage, who keeps bees?")
        await life.assistant.settled()
        assert "I keep bees" not in str(life.fake.chats[1].messages)
        assert "I noted" not in str(life.fake.chats[1].messages)
        assert (await life.assistant.rights.see(ANN)).memories == ()


async def test_a_player_is_forgotten_on_disk_too(tmp_path: Any) -> None:
    path = tmp_path / "journal.sqlite"
    async with lives(path, [noting("Ann keeps bees.")]) as place:
        async with place.one() as (assistant, _):
            await assistant.inbox.take(Said(id="e1", at=0.0, who=ANN, text="Sage, I keep bees", to_me=True))
            await react(assistant.context)
        assert b"bees" in path.read_bytes()
        async with place.one() as (assistant, _):
            remembered = (await assistant.rights.see(ANN)).memories
            assert [memory.text for memory in remembered] == ["Ann keeps bees.", "Sage, I keep bees"]
            forgotten = await assistant.forget(ANN)
            assert (forgotten.runs, forgotten.events, forgotten.memories, forgotten.erased) == (1, 1, 2, True)
        assert b"bees" not in path.read_bytes()


def commanding(request: RecordedRequest) -> Step:
    """Destroys the map when it is asked to, and says how that went."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"It came to this: {last['content']}"}),))
    if "allows" in last["content"]:  # it has other things in mind by now
        return Reply(calls=(Call("say", {"text": "What was it again?"}),))
    return Reply(calls=(Call("execute_command", {"command": "destroy old map"}),))


async def test_what_a_player_may_not_do_waits_for_somebody_who_may() -> None:
    async with living(commanding, registry=ALL_TOOLS) as life:
        await life.say("Sage, destroy the old map")
        assert "have asked leave for it" in life.witness.heard[-1]
        assert "old map" in {thing.name for thing in (await life.ann.look()).things}
        assert isinstance(life.assistant.approve(1, ANN), Denied)
        assert isinstance(life.assistant.approve(1, Principal("assistant:2", "Bot", Kind.ASSISTANT, 5)), Denied)
        assert isinstance(life.assistant.approve(1, CARL), Given)
        await settled(life)
        assert "old map" not in {thing.name for thing in (await life.ann.look()).things}
        assert life.witness.outcomes[-1] == Answered(("say",))
        assert life.assistant.context.tools.approvals.pending() == ()
        await life.say("Sage, destroy it again")
        assert [one.number for one in life.assistant.context.tools.approvals.pending()] == [2]


async def settled(life: Any) -> None:
    """Everything is dealt with, the news of an approval included."""
    for _ in range(20):
        await life.journal.pending()
        await life.assistant.settled()
