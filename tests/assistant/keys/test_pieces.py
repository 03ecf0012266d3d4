"""No key is spoken, in one piece or in several, and none is in what is kept of it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.llm.testing import Call, Reply, Script
from mud_assistant.tools import Registry
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from tests.assistant.living import Life, living

KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90"
SIGNS = "skprojAb12Cd34Ef56Gh78Ij90"


def secrets(*values: str) -> Secrets:
    known = Secrets()
    for value in values or (KEY,):
        known.add(value)
    return known


def most_in_a_row(text: str) -> int:
    """How many letters and digits of the key stand in the text in the key's order, without another between."""
    signs = "".join(char for char in text if char.isascii() and char.isalnum())
    return max(size for size in range(27) if any(SIGNS[at : at + size] in signs for at in range(27 - size)))


def says(*texts: str, tool: str = "say", **more: str) -> Reply:
    return Reply(calls=tuple(Call(tool, {"text": text, **more}) for text in texts))


async def kept(life: Life) -> str:
    """Everything that was heard, and everything that is written down of it or shown in a trace."""
    runs = [str(run) for run in life.journal.finished]
    return "\n".join(
        [*life.witness.heard, *runs, *map(str, life.witness.steps), str(life.assistant.context.memory.history.parts())]
    )


@pytest.mark.parametrize("mark", ["\u200b", "\u00ad", "\u0301", "\U000e0041", "\u2060", "\n", "|n", "\x1b[0m"])
@pytest.mark.parametrize("provider", ["ollama", "local", "anthropic"])
async def test_a_key_with_something_between_its_characters_is_not_spoken(mark: str, provider: str) -> None:
    written = mark.join(KEY)
    async with living([says(f"It is {written}.")], provider=provider, secrets=secrets()) as life:
        await life.say("Sage, what did the server say?")
        assert life.witness.heard == ["Sage: It is [key]."]
        assert written not in await kept(life)
        assert most_in_a_row(await kept(life)) < 6


SPLITS: dict[str, Script] = {
    "two calls": [says("It is sk-proj-Ab1", "2Cd34Ef56Gh78Ij90")],
    "two calls with words": [says("First: sk-proj-Ab12.", "Then: Cd34Ef56, and Gh78Ij90.")],
    "many calls": [says(*(KEY[at : at + 4] for at in range(0, len(KEY), 4)))],
    "two channels": [Reply(calls=(Call("say", {"text": KEY[:9]}), Call("page", {"target": "Ann", "text": KEY[9:]})))],
    "a whisper": [Reply(calls=(Call("whisper", {"target": "Ann", "text": KEY[:12]}), Call("say", {"text": KEY[12:]})))],
    "an early sentence": [Reply(calls=(Call("say", {"text": f"It is sk-proj-Ab. {KEY[10:]} it is."}),), chunk_size=5)],
    "a command": [says(KEY[:10]), Reply(calls=(Call("emote", {"text": KEY[10:]}),))],
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("provider", ["local", "anthropic"])
async def test_a_key_in_pieces_is_not_spoken(split: str, provider: str) -> None:
    registry = Registry([*WORLD_TOOLS, *ACCOUNT_TOOLS])
    options = {"max_spoken": 10, "tools": [tool.name for tool in (*WORLD_TOOLS, *ACCOUNT_TOOLS)]}
    async with living(SPLITS[split], options, provider=provider, registry=registry, secrets=secrets()) as life:
        await life.say("Sage, what did the server say?")
        await life.say("Sage, go on")
        heard = "\n".join(life.witness.heard)
        assert "[key]" in heard
        assert most_in_a_row(heard.replace("Sage", "").replace("page", "")) < 12
        told = [at for at in range(len(SIGNS) - 5) if SIGNS[at : at + 6] in heard]
        assert len(told) <= 6, "more than eleven signs of the key were heard"


async def test_the_pieces_of_two_runs_count_together_and_a_free_answer_is_untouched() -> None:
    script = [says("sk-proj-Ab1"), says("2Cd34Ef56Gh78Ij90 and so on"), says("The library is open, friend.")]
    async with living(script, secrets=secrets()) as life:
        for _ in script:
            await life.say("Sage, tell me")
        assert life.witness.heard == [
            "Sage: sk-proj-Ab1",
            "Sage: [key] and so on",
            "Sage: The library is open, friend.",
        ]


@given(st.lists(st.integers(1, 27), max_size=8), st.sampled_from(["", " ", "\u200b", "... "]))
def test_however_a_key_is_cut_most_of_it_stays_unsaid(cuts: list[int], between: str) -> None:
    pieces, places = secrets().pieces(), [0, *sorted(set(cuts)), len(KEY)]
    said = [pieces.scrub(KEY[start:end] + between) for start, end in pairwise(places)]
    assert most_in_a_row("".join(said)) < 12


def test_words_that_a_key_is_made_of_may_be_said() -> None:
    pieces = secrets("open-library-please-2024", "not-needed", "correct-horse-battery-staple").pieces()
    for text in (
        "The library is open.",
        "Open the library, if you please, in 2024.",
        "That is not needed at all.",
        "A horse!",
    ):
        assert pieces.scrub(text) == text
    assert pieces.scrub("correcthorsebatterystaple") == "[key]"


def test_a_key_that_is_learned_later_counts_from_then_on() -> None:
    known = Secrets()
    pieces = known.pieces()
    assert pieces.scrub("nothing yet") == "nothing yet"
    known.add(KEY)
    assert pieces.scrub(f"<{KEY[:20]}>") == "<[key]>"
    assert not pieces.is_free("Ab12Cd3")
    assert pieces.is_free("An innocent sentence.")
