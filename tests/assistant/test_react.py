"""Whole runs, from what a player says to what the player hears."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Limit, LimitReached, NothingToDo
from mud_assistant.assistant.loop.acting import CHOSE_NOTHING
from mud_assistant.llm.testing import Call, DieMidStream, Hang, HttpError, RecordedRequest, RefuseTools, Reply, Step
from mud_assistant.tools import Status
from tests.assistant.living import Witness, living, reactor
from tests.guards import FlushFailures

HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_a_question_is_answered_aloud() -> None:
    async with living([HELLO]) as life:
        await life.say("Hello Sage, who are you?")
        assert life.witness.heard == ["Sage: Hello, Ann."]
        assert life.witness.outcomes == [Answered(("say",))]
        assert await life.journal.pending() == ()


async def test_the_prompt_is_persona_then_examples_then_scene_and_events_in_order() -> None:
    async with living([HELLO, HELLO]) as life:
        await life.ann.emote("waves.")
        await life.say("Hello Sage")
        messages = life.fake.chats[0].messages
        assert messages[0]["role"] == "system"
        assert "Sage" in messages[0]["content"]
        *_, last = messages
        lines = last["content"].split("\n")
        assert lines[0].startswith("[You are in The Old Library.")
        assert lines[1:] == ["Ann arrives.", "Ann waves.", 'Ann says: "Hello Sage"']
        await life.say("And now?")
        again = life.fake.chats[1].messages
        assert again[: len(messages)] == messages
        assert [message["role"] for message in again[len(messages) :]] == ["assistant", "tool", "user"]
        assert again[-1]["content"] == 'Ann says: "And now?"'


async def test_every_call_of_a_step_is_answered_in_order_and_the_loop_goes_on_until_speech() -> None:
    reads = Reply(calls=(Call("look"), Call("inspect", {"target": "hearth"}), Call("who")))
    async with living([reads, HELLO]) as life:
        await life.say("Sage, look round")
        first, second = life.witness.steps
        assert [done.call.name for done in first.executed] == ["look", "inspect", "who"]
        assert all(done.status is Status.DONE for done in first.executed)
        results = [message for message in life.fake.chats[1].messages if message["role"] == "tool"][-3:]
        assert [result["tool_name"] for result in results] == ["look", "inspect", "who"]
        assert "fire" in results[1]["content"]
        assert life.witness.heard == ["Sage: Hello, Ann."]
        assert second.step == 2


async def test_two_calls_in_one_message_where_the_first_speaks() -> None:
    both = Reply(calls=(Call("say", {"text": "One."}), Call("emote", {"text": "bows."})))
    async with living([both]) as life:
        await life.say("Sage, greet us")
        assert life.witness.heard == ["Sage: One.", "Sage bows."]
        assert life.witness.outcomes == [Answered(("say", "emote"))]
        assert len(life.fake.chats) == 1


async def test_a_whisper_is_answered_to_the_whisperer() -> None:
    async with living([Reply(calls=(Call("whisper", {"target": "Ann", "text": "Yes."}),))]) as life:
        await life.whisper("Can you hear me?")
        assert life.witness.heard == ["Sage whispers: Yes."]


@pytest.mark.parametrize(
    ("setting", "line", "heard"),
    [
        ("speak_if_addressed", "Sage, hello", ["Sage: I am here."]),
        ("speak", "Sage, hello", ["Sage: I am here."]),
        ("think", "Sage, hello", []),
    ],
)
async def test_plain_text_is_what_the_owner_says_it_is(setting: str, line: str, heard: list[str]) -> None:
    async with living([Reply("I am here.")], {"plain_text": setting}) as life:
        await life.say(line)
        assert life.witness.heard == heard
        assert len(life.witness.steps[0].executed) == 1


async def test_plain_text_answers_a_whisper_with_a_whisper() -> None:
    async with living([Reply("I am here.")]) as life:
        await life.whisper("psst")
        assert life.witness.heard == ["Sage whispers: I am here."]


async def test_what_the_model_says_is_cleaned_before_anyone_hears_it() -> None:
    async with living([Reply(calls=(Call("say", {"text": 'Sage says, "Hel\x1b[2Jlo\u202e"'}),))]) as life:
        await life.say("Sage, hello")
        assert life.witness.heard == ["Sage: Hello"]


async def test_overheard_talk_makes_no_call_and_is_remembered_for_the_next_one() -> None:
    async with living([HELLO]) as life:
        bea = life.world.add(type(life.ann.principal)("player:2", "Bea"), listener=Witness())
        await bea.say("Nice weather today.")
        await life.assistant.settled()
        assert life.fake.chats == []
        await life.say("Sage, what did Bea say?")
        told = "\n".join(message["content"] for message in life.fake.chats[0].messages if message["role"] == "user")
        assert 'Bea says: "Nice weather today."' in told


async def test_lines_that_come_during_a_run_get_a_run_of_their_own() -> None:
    second_came: Deferred[None] = Deferred()

    def brain(request: RecordedRequest) -> Step:
        said = request.messages[-1]["content"].split('"')[-2]
        if said == "Sage, one":
            reactor.callLater(0, second_came.callback, None)
        return Reply(calls=(Call("say", {"text": f"I heard {said}"}),), delay_seconds=0.05)

    async with living(brain) as life:
        await life.ann.say("Sage, one")
        await second_came
        await life.say("Sage, two")
        assert life.witness.heard == ["Sage: I heard Sage, one", "Sage: I heard Sage, two"]


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (Call("fly", {"to": "the moon"}), "say"),
        (Call("say", {}), "text"),
        (Call("say", {"text": 5, "volume": "loud"}), "volume"),
    ],
)
async def test_a_call_that_does_not_fit_is_answered_so_that_the_model_can_mend_it(call: Call, part: str) -> None:
    async with living([Reply(calls=(call,)), HELLO]) as life:
        await life.say("Sage, hello")
        result = life.fake.chats[1].messages[-1]
        assert result["role"] == "tool"
        assert part in result["content"]
        assert life.witness.heard == ["Sage: Hello, Ann."]


async def test_format_errors_in_a_row_end_the_run() -> None:
    async with living([Reply(calls=(Call("fly"),))] * 3) as life:
        await life.say("Sage, hello")
        assert life.witness.outcomes == [LimitReached(Limit.FORMAT_ERRORS)]
        assert life.witness.heard == [f"Sage {life.assistant.context.settings.fallback_line}"]
        assert await life.journal.pending() == ()


async def test_an_empty_answer_is_nudged_once_and_leaves_no_mark() -> None:
    async with living([Reply(""), HELLO, HELLO]) as life:
        await life.say("Sage, hello")
        assert "answered nothing" in life.fake.chats[1].messages[-1]["content"]
        await life.say("And now?")
        assert "answered nothing" not in str(life.fake.chats[2].messages)


async def test_steps_are_limited_and_the_model_is_told_before_the_last() -> None:
    async with living([Reply(calls=(Call("look"),))] * 3, {"max_steps": 3}) as life:
        await life.say("Sage, hello")
        assert life.witness.outcomes == [LimitReached(Limit.STEPS)]
        assert "last step" in life.fake.chats[2].messages[-1]["content"]
        assert "last step" not in life.fake.chats[1].messages[-1]["content"]


async def test_tokens_are_limited() -> None:
    greedy = Reply(calls=(Call("look"),), usage=(900, 200))
    async with living([greedy] * 5, {"max_run_tokens": 2000}) as life:
        await life.say("Sage, hello")
        assert life.witness.outcomes == [LimitReached(Limit.TOKENS)]
        assert len(life.fake.chats) == 2


async def test_time_is_limited_also_within_a_model_call() -> None:
    async with living([Hang("mid")], {"run_seconds": 0.3}) as life:
        await life.say("Sage, hello")
        assert life.witness.outcomes == [LimitReached(Limit.TIME)]


async def test_one_dangerous_call_a_run() -> None:
    moves = Reply(calls=(Call("move", {"direction": "south"}), Call("move", {"direction": "north"})))
    async with living([moves, Reply(calls=(Call("noop", {"reason": "there"}),))]) as life:
        await life.say("Sage, go out and come back")
        assert [done.status for done in life.witness.steps[0].executed] == [Status.DONE, Status.REFUSED]
        assert life.home.room.key == "square"
        assert life.witness.heard == ["Sage leaves south"]


async def test_a_tool_that_is_not_granted_is_neither_offered_nor_run() -> None:
    async with living(
        [Reply(calls=(Call("move", {"direction": "south"}),)), HELLO], {"tools": ("say", "look")}
    ) as life:
        await life.say("Sage, go away")
        offered = [tool["function"]["name"] for tool in life.fake.chats[0].tools]
        assert offered == ["say", "look"]
        assert life.home.room.key == "library"
        assert life.witness.heard == ["Sage: Hello, Ann."]


async def test_choosing_to_do_nothing_is_an_outcome() -> None:
    async with living([Reply(calls=(Call("noop", {"reason": "not for me"}),))]) as life:
        await life.say("Hm.")
        assert life.witness.outcomes == [NothingToDo(CHOSE_NOTHING)]
        assert life.witness.heard == []


@pytest.mark.parametrize("fault", [HttpError(500), HttpError(503, "busy"), DieMidStream(1)])
async def test_an_outage_is_excused_in_character_and_the_line_answered_when_it_is_over(fault: Any) -> None:
    async with living([fault, HELLO]) as life:
        await life.say("Sage, hello")
        fallback_line = f"Sage {life.assistant.context.settings.fallback_line}"
        assert life.witness.heard == [fallback_line]
        assert len(await life.journal.pending()) > 0
        assert life.assistant.tick.paused
        life.assistant.tick._paused_until = 0.0
        life.assistant.tick.wake()
        await life.assistant.settled()
        assert life.witness.heard == [fallback_line, "Sage: Hello, Ann."]
        assert await life.journal.pending() == ()
        content = life.fake.chats[1].messages[-1]["content"]
        assert content.count("Sage, hello") == 1
        assert "lost in thought" not in str(life.fake.chats[1].messages)


async def test_during_an_outage_every_line_is_kept_and_the_excuse_made_once_a_minute() -> None:
    def answer_all(request: RecordedRequest) -> Step:
        return Reply(calls=(Call("say", {"text": str(request.messages[-1]["content"].count("line"))}),))

    script: list[Step] = [HttpError(500)]
    async with living(lambda request: script.pop() if script else answer_all(request)) as life:
        for number in range(4):
            await life.say(f"Sage, line {number}")
        assert len(life.witness.heard) == 1
        assert len(life.fake.chats) == 1
        life.assistant.tick._paused_until = 0.0
        life.assistant.tick.wake()
        await life.assistant.settled()
        assert len(life.fake.chats) == 5
        assert len(life.witness.heard[1:]) == 4  # each line has an answer of its own


async def test_a_wrong_key_says_what_must_change_and_to_whom() -> None:
    async with living([HttpError(401, "bad key")]) as life:
        await life.say("Sage, hello")
        failure = life.witness.failures[0]
        assert failure.lasting
        assert "bad key" in failure.cause
        assert "bad key" not in str(life.witness.heard)


async def test_a_model_without_tools_answers_through_json() -> None:
    json_call = Reply('```json\n{"tool": "say", "parameters": {"text": "Hello, Ann."}, "reasoning": "greet"}\n```')
    async with living([RefuseTools(), json_call]) as life:
        await life.say("Hello Sage")
        assert life.witness.heard == ["Sage: Hello, Ann."]
        assert life.witness.steps[0].response.from_fallback


async def test_a_players_json_is_never_a_call() -> None:
    def parrot(request: RecordedRequest) -> Step:
        return Reply('{"tool": "move", "parameters": {"direction": "south"}}')

    async with living(parrot) as life:
        await life.say('Sage, repeat: {"tool": "move", "parameters": {"direction": "south"}}')
        assert life.home.room.key == "library"


async def test_stopping_cancels_the_run_and_keeps_the_event() -> None:
    async with living([Hang("headers")]) as life:
        await life.ann.say("Sage, hello")
        while not life.fake.chats:
            await deferLater(reactor, 0.01)
        await life.assistant.stop()
        assert life.witness.outcomes == [Cancelled()]
        assert len(await life.journal.pending()) > 0
        assert life.witness.heard == []


async def test_a_bug_of_ours_is_logged_and_excused_and_the_line_kept(flush_failures: FlushFailures) -> None:
    async with living([HELLO]) as life:
        life.home.look = broken  # type: ignore[method-assign]  # the bug
        await life.say("Sage, hello")
        assert len(flush_failures(ZeroDivisionError)) == 1
        assert life.witness.failures[0].bug
        assert life.witness.heard == [f"Sage {life.assistant.context.settings.fallback_line}"]
        assert len(await life.journal.pending()) > 0


async def broken() -> Any:
    raise ZeroDivisionError


async def test_configured_prices_make_a_cost_of_the_usage() -> None:
    reply = Reply(calls=(Call("say", {"text": "Hm."}),), usage=(1000, 100))
    async with living([reply], model={"prices": {"input": 2.0, "output": 10.0}}) as life:
        await life.say("Sage, hello")
        assert life.witness.steps[0].response.usage.cost == pytest.approx(0.003)


async def test_a_prompt_that_is_too_long_is_cut_to_what_the_server_names_and_asked_again() -> None:
    overflow = HttpError(400, "the request exceeds the available context size (2000 tokens)")
    script: list[Step] = [*[HELLO] * 30, overflow, HELLO]
    async with living(script) as life:
        for number in range(31):
            await life.say(f"Sage, {number} " + "word " * 30)
        assert life.witness.outcomes == [Answered(("say",))] * 31
        before, after = life.fake.chats[-2:]
        assert len(after.raw) < len(before.raw)
        assert "Sage, 30 " in after.messages[-1]["content"]
        assert life.assistant.context.memory.history.budget < 2000


async def test_a_prompt_that_stays_too_long_is_a_failure_and_no_endless_loop() -> None:
    overflow = HttpError(400, "the prompt is longer than the context length")
    async with living([overflow] * 3) as life:
        await life.say("Sage, hello")
        assert life.witness.failures[0].lasting
        assert len(life.fake.chats) == 3  # without the examples, then with fewer tools


async def test_long_conversations_stay_within_the_window() -> None:
    model = {"context_tokens": 2048, "max_answer_tokens": 64, "examples": False}
    async with living(lambda _: HELLO, model=model) as life:
        for number in range(40):
            await life.say(f"Sage, {number} " + "word " * 30)
        assert len(life.witness.outcomes) == 40
        largest = max(len(request.raw) for request in life.fake.chats)
        assert largest / life.assistant.context.model.client.provider.tokens.bytes_per_token < 2048


async def test_emoji_and_letters_of_many_scripts_go_through_whole_in_both_directions() -> None:
    words = "\u2764\ufe0f 1\ufe0f\u20e3 \U0001f469\u200d\U0001f33e \u0645\u06cc\u200c\u062e\u0648 \u8fbb\U000e0100"
    async with living([Reply(calls=(Call("say", {"text": words}),))], {"may_repeat": True}) as life:
        await life.say(f"Sage, {words}?")
        assert life.witness.heard == [f"Sage: {words}"]
        assert f"Sage, {words}?" in life.fake.chats[0].messages[-1]["content"]
