"""Whatever was heard, the next addressed line is answered in its first run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.config.schema import AssistantConfig, JournalConfig
from mud_assistant.assistant.events.classify import classify
from mud_assistant.assistant.events.events import Emoted, Event, Said, Whispered
from mud_assistant.assistant.events.outcome import Answered, Failed
from mud_assistant.assistant.journal import InboxFullError
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.runtime.build import manners_of
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.tools import Category, NoArguments, Principal, Registry, Tool
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from tests.assistant.living import ANN, SAGE
from tests.assistant.refusing import BEA, CID, PEOPLE, Calls, Still, still
from tests.effort import times

FEW, MANY = Registry(WORLD_TOOLS), Registry([*WORLD_TOOLS, *ACCOUNT_TOOLS])
QUESTION = "Sage, where is the miller's grey goose?"
WINDOWS = st.sampled_from([2048, 2500, 3000, 4096, 8192, 20_000, 131_072])
#: A letter of Latin, of Chinese and of those that take four bytes.
LETTERS = st.sampled_from("x\u6c34\U0001f9d9")


def line(who: Principal, how: str, text: str) -> Any:
    def made(event_id: str) -> Event:
        if how == "whisper":
            return Whispered(id=event_id, at=0.0, who=who, text=text)
        if how == "emote":
            return Emoted(id=event_id, at=0.0, who=who, text=text)
        return Said(id=event_id, at=0.0, who=who, text=text, to_me=how == "to me")

    return made


def asked(life: Still, who: Principal = ANN) -> None:
    """The question is put, answered in its first run, and was in the prompt as a whole."""
    before = len(life.model.asked)
    life.hear(line(who, "to me", QUESTION))
    assert life.runs()[-1] == Answered(("say",))
    assert any(QUESTION in body for body in life.model.asked[before:])


def fat_tool(size: int) -> Tool:
    async def execute(_: NoArguments, __: object) -> str:
        return "y" * size

    return Tool("read", "Read it.", NoArguments, Category.SAFE_CHAIN, execute)


@pytest.mark.parametrize("window", [2048, 8192])
def test_thirty_long_lines_leave_the_next_player_answered(window: int) -> None:
    life = still(FEW, window=window)
    for number in range(30):
        life.hear(line(BEA, "say", f"{number} " + "x" * 1000))
    asked(life)
    assert life.model.refused == 0
    assert "earlier lines are left out here]" in life.model.asked[-1]


def test_ten_ticks_of_ordinary_lines_leave_the_next_player_answered() -> None:
    life = still(FEW)
    for tick in range(12):
        for number in range(45):
            life.hear(line(BEA, "say", f"{tick}.{number}: the bread was dear at the market again this morning"))
        life.run()
    asked(life)
    assert life.model.refused == 0


def test_the_newest_of_what_was_overheard_is_kept_and_the_mark_counts_the_rest() -> None:
    life = still(FEW)
    for number in range(100):
        life.hear(line(BEA, "say", f"line {number} " + "x" * 300))
    asked(life)
    kept = [number for number in range(100) if f"line {number} " in life.model.asked[-1]]
    assert kept
    assert kept == list(range(100 - len(kept), 100))
    assert f"[{100 - len(kept)} earlier lines are left out here]" in life.model.asked[-1]


def test_what_was_said_to_it_survives_what_was_overheard() -> None:
    life = still(FEW)
    life.hear(line(CID, "to me", "Sage, the word is heron."))
    for number in range(100):
        life.hear(line(BEA, "say", f"line {number} " + "x" * 300))
    asked(life)
    assert "the word is heron" in life.model.asked[-1]


@given(
    window=WINDOWS,
    ticks=st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(PEOPLE),
                st.sampled_from(["say", "say", "emote", "to me", "whisper"]),
                st.integers(1, 2500),
                LETTERS,
                st.integers(1, 40),
            ),
            max_size=4,
        ),
        max_size=14,
    ),
    bytes_a_token=st.sampled_from([3.0, 3.8, 4.9]),
    registry=st.sampled_from([FEW, MANY]),
    fat=st.integers(0, 16_000),
)
@settings(max_examples=times(12), deadline=None)
def test_whatever_was_heard_the_next_addressed_line_is_answered(
    window: int, ticks: list[Any], bytes_a_token: float, registry: Registry, fat: int
) -> None:
    reads = Registry([*(registry.get(name) for name in registry.names()), fat_tool(fat)])  # type: ignore[list-item]

    def brain(body: str) -> Calls:
        last = max(body.rfind(" says to you: "), body.rfind(" whispers to you: "))
        if body.find('"read"', last) < 0:
            return [("read", {})]
        if body.rfind(" whispers to you: ") == last:
            name = body[:last].rpartition("\\n")[2].rpartition('"')[2].split()[-1]
            return [("whisper", {"target": name, "text": "Psst."})]
        return [("say", {"text": "I hear you."})]

    life = still(reads, brain, window, bytes_a_token=bytes_a_token, names=window % 2 == 0)
    for tick in ticks:
        for who, how, size, letter, count in tick:
            for _ in range(count):
                life.hear(line(who, how, letter * size))
        life.runs()
    asked(life)


@given(real=st.sampled_from([2048, 3000, 4096]), names=st.booleans(), bytes_a_token=st.sampled_from([2.5, 3.8]))
@settings(max_examples=times(8), deadline=None)
def test_a_server_with_a_smaller_window_than_the_settings_say_answers(
    real: int, names: bool, bytes_a_token: float
) -> None:
    life = still(FEW, window=real, told_window=131_072, names=names, bytes_a_token=bytes_a_token)
    for number in range(300):
        life.hear(line(BEA, "say", f"{number} " + "x" * 1000))
        if number % 50 == 0:
            life.run()
    asked(life)


async def test_it_is_answered_after_a_restart_with_all_of_it_pending(tmp_path: Path, reactor: Any) -> None:
    manners = manners_of(AssistantConfig(), SAGE)
    for life_number in range(2):
        file = JournalFile(tmp_path / "journal.sqlite", reactor, lambda: 0.0, JournalConfig())
        await file.open()
        storage = await file.storage_of(SAGE.id, 60)
        if life_number == 0:
            for number in range(100):  # more than the inbox takes: the question takes the place of an overheard line
                overheard = Said(id=f"o{number}", at=0.0, who=BEA, text="x" * 1000)
                with suppress(InboxFullError):
                    await storage.journal.accept(overheard, classify(overheard, manners))
            question = Said(id="q", at=0.0, who=ANN, text=QUESTION, to_me=True)
            await storage.journal.accept(question, classify(question, manners))
        else:
            life = still(FEW, window=2048, storage=storage)
            assert await react(life.context) == Answered(("say",))
            assert QUESTION in life.model.asked[-1]
            assert len(life.model.asked) == 1
        await file.close()


def test_a_front_that_does_not_fit_is_told_to_the_owner_in_one_sentence() -> None:
    life = still(FEW, window=2048, settings={"persona": "wise and old " * 600})
    life.hear(line(ANN, "to me", QUESTION))
    outcome = life.run()
    assert isinstance(outcome, Failed)
    assert outcome.lasting
    assert outcome.cause.startswith("the model's window is too small: the persona, the rules and the tools take about")
    assert "raise context_tokens" in outcome.cause
