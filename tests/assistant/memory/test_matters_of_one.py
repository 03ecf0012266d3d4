"""What is told of people carries their labels into the stream: it is for whom it was for, and goes with who said it."""

from __future__ import annotations

from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.tools import Principal
from tests.assistant.memory.days import DAY, Days, days

IDA, OTTO = Principal("player:1", "Ida"), Principal("player:2", "Otto")


def in_mind(life: Days) -> str:
    """All that stands in the stream."""
    messages = [message for entry in life.assistant.context.memory.history.entries() for message in entry.messages]
    return "\n".join(f"{message.text} {[call.arguments for call in message.tool_calls]}" for message in messages)


def forget(life: Days, who: Principal) -> None:
    """Let the character forget somebody."""
    Deferred.fromCoroutine(life.assistant.forget(who))
    life.pass_time()


def test_a_matter_that_was_whispered_is_shown_in_no_prompt_that_others_are_answered_on() -> None:
    life = days(asking="tools")
    life.come(IDA)
    life.whisper(IDA, "I have lost my wedding ring.")
    life.leave(IDA)
    life.pass_time(2 * DAY)
    life.come(IDA)
    assert 'Ask Ida how it went: "I have lost my wedding ring."' in life.whisper(IDA, "Good evening to you.")
    life.come(OTTO)
    assert "wedding" not in life.say(OTTO, "how are you?")
    assert "wedding" in in_mind(life)
    forget(life, IDA)
    assert "wedding" not in in_mind(life)


def test_what_it_said_of_somebody_goes_with_them_though_no_search_finds_their_words() -> None:
    renamed = replace(IDA, name="Thomasine")
    life = days()
    life.come(IDA)
    life.say(IDA, "My sister is called Anke.")
    life.leave(IDA)
    life.come(renamed)
    life.say(renamed, "good day!")
    life.leave(renamed)
    Deferred.fromCoroutine(life.assistant.clear_mind(memories=False))
    life.pass_time(3 * DAY)
    life.come(OTTO)
    assert "Anke" in life.say(OTTO, "do you know Thomasine?")
    said = life.witness.heard[-1].removeprefix("Sage: ")
    assert said in in_mind(life)
    forget(life, IDA)
    assert said not in in_mind(life)
