"""A process that dies at every single moment at which something is written, over a run of six calls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.loop.react import react
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import ANN, reactor
from tests.crash.lives import Lives, lives
from tests.crash.mortal import Death
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("reactor_baseline")

STEPS = (
    Reply(calls=(Call("look"), Call("remember", {"text": "Ann asked the way."}))),
    Reply(calls=(Call("inspect", {"target": "hearth"}), Call("move", {"direction": "south"}))),
    Reply(calls=(Call("say", {"text": "It is out here."}), Call("emote", {"text": "points at the road."}))),
)
SPOKEN = ("Sage: It is out here.", "Sage points at the road.")
#: Before and after each of: the run opened, 3 answers, 3 reads, 3 intents, 3 results, the run closed.
BOUNDARIES = 2 * (1 + 3 + 3 + 3 + 3 + 1)


def brain(request: RecordedRequest) -> Step:
    """The step that comes after those the conversation holds already."""
    since = 0
    for message in request.messages:
        since = 0 if message["role"] == "user" else since + (message["role"] == "assistant")
    return STEPS[since]


async def hear(place: Lives, assistant_event: str = "e1") -> None:
    async with place.one() as (assistant, journal):
        event = Said(id=assistant_event, at=reactor.seconds(), who=ANN, text="Sage, which way is it?", to_me=True)
        await assistant.inbox.take(event)
        assert [accepted.event for accepted in await journal.pending()] == [event]


async def live_on(place: Lives) -> tuple[int, int]:
    """Runs until nothing is left to do; how many effects are of unknown outcome, and how many events are parked."""
    async with place.one() as (assistant, journal):
        for _ in range(5):
            await react(assistant.context)
        assert await journal.pending() == ()
        return len(await journal.unknown_effects()), len(await journal.parked())


async def test_a_life_without_death_passes_every_boundary(tmp_path: Path) -> None:
    async with lives(tmp_path / "journal.sqlite", brain) as place:
        await hear(place)
        async with place.one() as (assistant, journal):
            await react(assistant.context)
            assert len(journal.boundaries) == BOUNDARIES
        assert await live_on(place) == (0, 0)
        assert place.witness.heard == ["Sage leaves south", "Sage arrives north", *SPOKEN]
        assert len(place.fake.chats) == len(STEPS)


@pytest.mark.parametrize("at", range(BOUNDARIES))
async def test_a_death_at_this_moment_repeats_nothing_and_loses_nothing(
    at: int, tmp_path: Path, flush_failures: FlushFailures
) -> None:
    async with lives(tmp_path / "journal.sqlite", brain) as place:
        await hear(place)
        async with place.one(at) as (assistant, journal):
            with pytest.raises(Death):
                await react(assistant.context)
            journalled = sum(name.startswith("after response") for name in journal.boundaries)
        asked = len(place.fake.chats)
        unknown, parked = await live_on(place)
        heard = Counter(place.witness.heard)
        assert max(heard.values()) == 1, heard
        assert unknown <= 1
        assert parked == 0
        assert sum(heard[line] for line in SPOKEN) + unknown >= len(SPOKEN)
        # An answer that was written down is never asked for again; one that was on its way is, once.
        assert len(place.fake.chats) <= len(STEPS) + asked - journalled
        assert place.home.room.key in {"library", "square"}
    flush_failures()
