"""A process that dies at every moment of a run whose first sentence is spoken before its answer is whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mud_assistant.assistant.loop.react import react
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.crash.lives import lives
from tests.crash.mortal import Death
from tests.crash.test_every_boundary import hear, live_on
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("reactor_baseline")

FIRST, REST = "The well lies north of the mill, Ann.", "Past the old oak. Mind the wolves!"
STEPS = (
    Reply(calls=(Call("look"),)),
    Reply(calls=(Call("say", {"text": f"{FIRST} {REST}"}), Call("emote", {"text": "points north."})), chunk_size=7),
)
SPOKEN = [f"Sage: {FIRST}", f"Sage: {REST}", "Sage points north."]
#: Before and after each of: the run opened, 3 answers, a read, 3 intents, 3 results, the run closed.
BOUNDARIES = 2 * (1 + 3 + 1 + 3 + 3 + 1)


def brain(request: RecordedRequest) -> Step:
    """Looks, then speaks; whatever it is asked after that it speaks again, which would be heard twice."""
    since = 0
    for message in request.messages:
        since = 0 if message["role"] == "user" else since + (message["role"] == "assistant")
    return STEPS[min(since, 1)]


async def test_a_life_without_death_passes_every_boundary(tmp_path: Path) -> None:
    async with lives(tmp_path / "journal.sqlite", brain, "local") as place:
        await hear(place)
        async with place.one() as (assistant, journal):
            await react(assistant.context)
            assert len(journal.boundaries) == BOUNDARIES
        assert await live_on(place) == (0, 0)
        assert place.witness.heard == SPOKEN
        assert len(place.fake.chats) == len(STEPS)


@pytest.mark.parametrize("at", range(BOUNDARIES))
async def test_a_death_at_this_moment_repeats_nothing_and_loses_nothing(
    at: int, tmp_path: Path, flush_failures: FlushFailures
) -> None:
    async with lives(tmp_path / "journal.sqlite", brain, "local") as place:
        await hear(place)
        async with place.one(at) as (assistant, journal):
            with pytest.raises(Death):
                await react(assistant.context)
            journalled = [name for name in journal.boundaries if name.startswith("after response")]
            is_whole = "after response 3" in journalled
        asked = len(place.fake.chats)
        unknown, parked = await live_on(place)
        heard = Counter(place.witness.heard)
        assert max(heard.values(), default=1) == 1, heard
        assert set(heard) <= set(SPOKEN)
        assert unknown <= 1
        assert parked == 0
        assert heard[SPOKEN[0]] + unknown >= 1
        # Of an answer that was written down as a whole nothing is lost; of one that had begun, what was not said.
        assert not is_whole or sum(heard.values()) + unknown >= len(SPOKEN)
        # One that had begun is not asked for again either.
        assert len(place.fake.chats) <= len(STEPS) + asked - min(len(journalled), len(STEPS))
        async with place.one() as (assistant, _):
            told = [
                call.arguments["text"]
                for message in assistant.context.memory.history.messages()
                for call in message.tool_calls
                if call.name == "say"
            ]
            assert sum(str(text).startswith(FIRST) for text in told) == 1
    flush_failures()
