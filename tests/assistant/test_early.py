"""The first sentence is heard while the model still writes, once, and whatever happens to the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.llm.testing import AnthropicReply, Call, EndEarly, Reply, ResponsesReply, Search
from mud_assistant.tools import Kind, Principal, Registry, Status, Tool, ToolContext, ToolFailed
from mud_assistant.tools.verbs import WORLD_TOOLS
from mud_assistant.tools.verbs.speaking import SAY
from tests.assistant.living import SAGE, Life, living, reactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")

FIRST = "The well lies north of the mill, Ann."
REST = "Past the old oak. Mind the wolves!"
WHOLE = f"{FIRST} {REST}"
EARLY = Reply(calls=(Call("say", {"text": WHOLE}),), chunk_size=7)
TEXT = Reply(WHOLE, chunk_size=7)
#: A word in plain text first, from which it is known that the text of this model is its answer.
HELLO = Reply("Hello.")
SAID = [f"Sage: {FIRST}", f"Sage: {REST}"]
NATIVE = pytest.mark.parametrize("provider", ["local", "openai", "openai-responses", "openrouter", "anthropic"])


async def turn(life: Life, clock: Clock) -> None:
    """The server sends one more piece, and everybody has time to deal with it."""
    clock.advance(1.0)
    await deferLater(reactor, 0.003)


async def whole(life: Life, text: str = "Sage, where is the well?") -> None:
    """Ann asks; returns when the answer is complete."""
    await life.say(text)


@pytest.mark.parametrize(
    "provider", ["local", "openai", "openai-responses", "openrouter", "anthropic", "ollama", "text"]
)
async def test_the_first_sentence_is_heard_while_the_server_holds_back_the_rest(provider: str) -> None:
    in_text = provider in {"text", "ollama"}
    provider = "local" if provider == "text" else provider
    clock = Clock()
    script = [HELLO] * in_text + [structs.replace(TEXT if in_text else EARLY, piece_seconds=1.0)]
    async with living(script, provider=provider, server_clock=clock) as life:
        if in_text:
            await whole(life, "Sage, hello")
        before = len(life.witness.heard)
        await life.ann.say("Sage, where is the well?")
        turns = [0, 0]
        for at, heard in enumerate((1, 2)):
            while len(life.witness.heard) < before + heard:
                await turn(life, clock)
                turns[at] += 1
            if heard == 1:
                assert life.witness.heard[before:] == SAID[:1]
                assert len(life.witness.outcomes) == before
        await life.assistant.settled()
        assert turns[1] >= 4
        assert life.witness.heard[before:] == SAID
        assert life.witness.outcomes[before:] == [Answered(("say",))]
        assert len(life.fake.chats) == 1 + before


@NATIVE
async def test_the_model_is_shown_its_whole_answer_once_with_one_result(provider: str) -> None:
    async with living([EARLY, EARLY], provider=provider) as life:
        await whole(life)
        assert life.witness.heard == SAID
        [*_, asked, acted, result] = life.assistant.context.memory.history.messages()
        assert "where is the well" in asked.text
        [call] = acted.tool_calls
        assert call.arguments == {"text": WHOLE}
        [answer] = result.tool_results
        assert (answer.call_id, answer.failed) == (call.id, False)
        [step] = life.witness.steps
        assert (step.step, step.executed[0].call.arguments) == (1, {"text": WHOLE})
        [run] = life.journal.finished
        assert [response.is_beginning for response in run.responses.values()] == [True, False]
        texts = {place: call.arguments["text"] for place, call in run.intents.items()}
        assert texts == {(1, 0): FIRST, (2, 0): REST}
        assert sorted(run.results) == [(1, 0), (2, 0)]
        await life.say("Sage, and now?")  # the servers refuse what breaks the order of calls and results
        assert isinstance(life.witness.outcomes[-1], Answered)


@pytest.mark.parametrize("limits", [{"max_steps": 1}, {"max_spoken": 1}, {"max_calls": 1}])
async def test_beginning_and_rest_count_as_one(limits: dict[str, Any]) -> None:
    async with living([EARLY], limits, provider="local") as life:
        await whole(life)
        assert life.witness.heard == SAID


async def test_the_caps_still_hold_for_what_comes_after() -> None:
    twice = Reply(calls=(*EARLY.calls, Call("emote", {"text": "nods."})), chunk_size=7)
    async with living([twice], {"max_spoken": 1}, provider="local") as life:
        await whole(life)
        assert life.witness.heard == SAID
        assert [done.status for done in life.witness.steps[0].executed] == [Status.DONE, Status.REFUSED]


async def test_the_other_calls_of_the_answer_are_made_in_their_order() -> None:
    calls = (*EARLY.calls, Call("emote", {"text": "points at the road."}), Call("look"))
    async with living([Reply(calls=calls, chunk_size=7)], provider="local") as life:
        await whole(life)
        assert life.witness.heard == [*SAID, "Sage points at the road."]
        assert life.witness.outcomes == [Answered(("say", "emote"))]
        assert [done.call.name for done in life.witness.steps[0].executed] == ["say", "emote", "look"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(calls=(Call("say", {"text": f"{FIRST} "}),), chunk_size=7),
        Reply(calls=(Call("say", f'{{"text": "{FIRST} \\u200b \\n"}}'),), chunk_size=7),
    ],
)
async def test_when_nothing_is_left_nothing_more_is_said(reply: Reply) -> None:
    async with living([reply], provider="local") as life:
        await whole(life)
        assert life.witness.heard == SAID[:1]
        [run] = life.journal.finished
        assert sorted(run.intents) == [(1, 0)]
        assert sorted(run.results) == [(1, 0), (2, 0)]
        assert run.results[2, 0].call.id == run.responses[2].tool_calls[0].id


def says(text: str, name: str = "say", **more: str) -> Reply:
    return Reply(calls=(Call(name, {"text": text, **more}),), chunk_size=7)


@pytest.mark.parametrize(
    ("reply", "heard"),
    [
        (says(f"nods: {WHOLE}", "emote"), f"Sage nods: {WHOLE}"),
        (Reply(calls=(Call("whisper", {"target": "Ann", "text": WHOLE}),), chunk_size=7), f"Sage: {WHOLE}"),
        (says(f'"{WHOLE}"'), f"Sage: {WHOLE}"),
        (says(f"Sage: {WHOLE}"), f"Sage: {WHOLE}"),
        (says(f'Sage says, "{WHOLE}"'), f"Sage: {WHOLE}"),
        (says(f"[1] {WHOLE}"), f"Sage: [1] {WHOLE}"),
        (says(f"It is written of old [1]. {REST}"), f"Sage: It is written of old [1]. {REST}"),
        (says("Well met. Come in."), "Sage: Well met. Come in."),
        (says("The key is sesame-1234, my dear. Go."), "Sage: The key is [key], my dear. Go."),
        (says("Hello \x1b]0;mine own. And\x07 Ann, good day."), "Sage: Hello  Ann, good day."),
        (TEXT, f"Sage: {WHOLE}"),
    ],
)
async def test_what_must_be_seen_as_a_whole_is_spoken_as_a_whole(reply: Reply, heard: str) -> None:
    def scrub(text: str) -> str:
        return text.replace("sesame-1234", "[key]")

    async with living([reply], provider="local", scrub=scrub) as life:
        await whole(life)
        assert life.witness.heard == [heard]


async def test_the_owner_can_turn_it_off() -> None:
    async with living([EARLY], {"speak_early": False}, provider="local") as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]


async def test_a_call_that_comes_whole_is_made_whole() -> None:
    async with living([EARLY]) as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]


@pytest.mark.parametrize("reply", [EARLY, TEXT], ids=["call", "text"])
async def test_an_answer_that_comes_in_one_piece_is_spoken_in_one(reply: Reply) -> None:
    async with living([HELLO, structs.replace(reply, chunk_size=10_000)], provider="local") as life:
        await whole(life, "Sage, hello")
        await whole(life)
        assert life.witness.heard == ["Sage: Hello.", f"Sage: {WHOLE}"]


async def test_an_assistant_that_asks_is_answered_in_one_piece() -> None:
    """Whether an answer is an echo is seen of the whole only."""
    bot = Principal("assistant:2", "Ann", Kind.ASSISTANT)
    async with living([EARLY], {"room_speech": "trigger"}, provider="local", ann=bot) as life:
        await life.say("Sage, where is the well?")
        assert all(said == f"Sage: {WHOLE}" for said in life.witness.heard)


async def test_no_approval_is_asked_for_a_part() -> None:
    async with living([EARLY] * 5, {"required_permission": {"say": 3}}, provider="local") as life:
        await whole(life)
        assert life.witness.heard == [f"Sage {life.assistant.context.settings.fallback_line}"]
        [waiting] = life.assistant.context.tools.approvals.pending()
        assert waiting.arguments == {"text": WHOLE}


async def test_what_policy_refuses_is_refused_early_as_well() -> None:
    look = Reply(calls=(Call("look"),))
    async with living([look, EARLY], {"max_calls": 1, "max_steps": 2}, provider="local") as life:
        await whole(life)
        assert life.witness.heard == [f"Sage {life.assistant.context.settings.fallback_line}"]
        assert life.witness.steps[1].executed[0].status is Status.REFUSED
        [run] = life.journal.finished
        assert [response.is_beginning for response in run.responses.values()] == [False, True, False]
        assert sorted(run.intents) == [(1, 0)]


def once_no(tool: Tool) -> Registry:
    """The tools, `tool` being told no by the world the first time."""
    tries: list[str] = []

    async def execute(arguments: Any, context: ToolContext) -> Any:
        tries.append(arguments.text)
        if len(tries) == 1:
            raise ToolFailed("You have a frog in your throat.")
        return await tool.execute(arguments, context)

    return Registry([replace(tool, execute=execute) if known is tool else known for known in WORLD_TOOLS])


async def test_what_the_world_refuses_is_tried_again_as_a_whole() -> None:
    async with living([EARLY], provider="local", registry=once_no(SAY)) as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]
        assert [done.status for done in life.witness.steps[0].executed] == [Status.DONE]
        assert len(life.fake.chats) == 1


async def test_a_sentence_that_was_not_said_does_not_keep_a_broken_stream_from_being_asked_for_again() -> None:
    broken = EndEarly(11, EARLY)
    async with living([broken, EARLY], None, {"max_attempts": 2}, "local", registry=once_no(SAY)) as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]
        assert len(life.fake.chats) == 2


async def test_text_beside_a_call_is_known_for_what_it_is_from_then_on() -> None:
    beside = Reply(WHOLE, calls=(Call("look"),), chunk_size=7)
    async with living([HELLO, beside, HELLO, TEXT], provider="local") as life:
        await life.say("Sage, hello")
        await life.say("Sage, look round")
        assert life.witness.heard == ["Sage: Hello.", f"Sage: {FIRST}", "Sage: Hello."]
        assert life.witness.outcomes[-1] == Answered(("say",))
        await whole(life)
        assert life.witness.heard[3:] == [f"Sage: {WHOLE}"]


@pytest.mark.parametrize(
    "text",
    [
        "<think>I am asked for the way. Hm.</think> Hello.",
        "say: Hello there, my dear. Come",
        "Action: look. Now I will.",
    ],
)
async def test_text_that_may_be_something_else_waits_for_its_end(text: str) -> None:
    async with living([HELLO, Reply(text, chunk_size=7), HELLO], provider="local") as life:
        await life.say("Sage, hello")
        await life.say("Sage, and?")
        assert len(life.journal.finished[-1].responses) == len(life.witness.steps) - 1


async def test_what_a_server_found_itself_is_cited_below_the_whole() -> None:
    search = Search("wells", (("Wells", "https://wells.example/"),))
    reply = AnthropicReply(calls=EARLY.calls, searches=(search,), chunk_size=7)
    async with living([reply], provider="anthropic") as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]


async def test_what_was_found_on_the_web_is_cited_below_the_whole() -> None:
    async with living([Reply(calls=(Call("look"),)), EARLY], provider="local", registry=looking_it_up()) as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]


def looking_it_up() -> Registry:
    """The tools, of which `look` names a source."""

    async def execute(_: Any, context: ToolContext) -> str:
        web: Any = context.web
        return f"[{web.citations.number('https://wells.example/')}]"

    return Registry([replace(known, execute=execute) if known.name == "look" else known for known in WORLD_TOOLS])


REMARK = "Let me think about that, Ann."


@pytest.mark.parametrize("form", ["text", "call"])
async def test_192_what_is_said_on_the_way_is_heard_at_once_and_the_answer_whole_after_it(form: str) -> None:
    answer: dict[str, Any] = {"text": WHOLE} if form == "text" else {"calls": (Call("say", {"text": WHOLE}),)}
    reply = ResponsesReply(commentary=REMARK, chunk_size=7, **answer)
    async with living([reply, Reply("Fine.")], provider="openai-responses") as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {REMARK}", f"Sage: {WHOLE}"]
        assert life.witness.outcomes == [Answered(("say",))]
        assert life.fake.chats[0].body["prompt_cache_key"] == SAGE.id
        await whole(life, "Sage, and now?")
        told = [message["content"] for message in life.fake.chats[-1].messages if message["role"] == "assistant"]
        calls = [call for message in life.fake.chats[-1].messages for call in message.get("tool_calls", ())]
        said = [*told, *(call["function"]["arguments"] for call in calls)]
        assert sum(REMARK in str(words) for words in said) >= 1
        assert sum(FIRST in str(words) for words in said) == 1


async def test_what_is_said_on_the_way_is_not_spoken_where_plain_text_is_not() -> None:
    reply = ResponsesReply(WHOLE, commentary=REMARK, chunk_size=7)
    async with living([reply], {"speak_early": False}, provider="openai-responses") as life:
        await whole(life)
        assert life.witness.heard == [f"Sage: {WHOLE}"]
