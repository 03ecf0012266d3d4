"""Everybody who asked is answered: one person a run, in the order they asked, by a model that says one thing a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.schema import AssistantConfig, JournalConfig
from mud_assistant.assistant.events.classify import classify
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered, Failed
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.runtime.build import manners_of
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.llm.testing import Call, HttpError, RecordedRequest, Reply, Step
from mud_assistant.tools import Registry
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.assistant.living import ANN, SAGE, Life, Witness, living
from tests.assistant.refusing import BEA, CID, PEOPLE, Calls, still

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ROUNDS = 20
_ASKED = re.compile(r'(Ann|Bea|Cid) says(?: to you)?: \\*"Sage, what is (\w+)\?')


def last_asked(prompt: str) -> str:
    """The answer to the last question of the prompt, with the name of who asked it."""
    name, thing = _ASKED.findall(prompt)[-1]
    return f"{name}, {thing} is old."


def answers_one(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": last_asked(str(request.messages))}),))


def brain(body: str) -> Calls:
    return [("say", {"text": last_asked(body)})]


async def bodies(life: Life) -> dict[str, Any]:
    """The three who ask."""
    others = [life.world.add(who, listener=Witness()) for who in (BEA, CID)]
    return dict(zip([who.name for who in PEOPLE], [life.ann, *others], strict=True))


async def all_ask(life: Life, people: dict[str, Any], number: int) -> list[str]:
    """Everybody asks in the same moment, another one first in each round; the answers that are due."""
    names = list(people)
    order = names[number % 3 :] + names[: number % 3]
    for name in order:
        await people[name].say(f"Sage, what is {name.lower()}{number}?")
    await life.assistant.settled()
    return [f"Sage: {name}, {name.lower()}{number} is old." for name in order]


def said(life: Life) -> list[str]:
    return [line for line in life.witness.heard if line.startswith("Sage: ")]


async def test_three_who_ask_at_once_are_answered_in_order_for_twenty_rounds() -> None:
    async with living(answers_one, {"join_seconds": 0.001}) as life:
        people = await bodies(life)
        due = [answer for number in range(ROUNDS) for answer in await all_ask(life, people, number)]
        assert said(life) == due
        assert await life.journal.pending() == ()
        assert all(len(run.events) and len({heard.event.who.id for heard in run.events if heard.attention.addressed})
                   == 1 for run in life.journal.finished)  # fmt: skip


async def test_each_line_of_one_person_has_a_run_and_an_answer_and_others_come_between() -> None:
    async with living(answers_one, {"join_seconds": 0.05}) as life:
        people = await bodies(life)
        await life.say("Sage, what is zero?")
        await people["Ann"].say("Sage, what is one?")
        await people["Bea"].say("Sage, what is two?")
        await people["Bea"].say("Sage, what is four?")
        await people["Ann"].say("Sage, what is three?")
        await life.assistant.settled()
        assert sorted(said(life)[-4:]) == [
            "Sage: Ann, one is old.",
            "Sage: Ann, three is old.",
            "Sage: Bea, four is old.",
            "Sage: Bea, two is old.",
        ]
        assert said(life)[-4:].index("Sage: Bea, two is old.") < said(life)[-4:].index("Sage: Ann, three is old.")


async def test_one_without_budget_keeps_nobody_from_an_answer() -> None:
    async with living(answers_one, {"join_seconds": 0.001}, budget={"player": {"calls": 2}}) as life:
        people = await bodies(life)
        await life.say("Sage, what is a?")
        await life.say("Sage, what is b?")
        due = await all_ask(life, people, 0)
        assert said(life)[-2:] == due[1:]
        assert [limit.account for limit in life.witness.limits] == [ANN.id]
        assert await life.journal.pending() == ()


async def test_one_who_leaves_keeps_nobody_from_an_answer() -> None:
    async with living(answers_one, {"join_seconds": 0.05}) as life:
        people = await bodies(life)
        await life.say("Sage, what is a?")
        for name in ("Bea", "Ann", "Cid"):
            await people[name].say(f"Sage, what is {name.lower()}?")
        await people["Bea"].move("south")
        await life.assistant.settled()
        assert said(life)[-2:] == ["Sage: Ann, ann is old.", "Sage: Cid, cid is old."]
        assert await life.journal.pending() == ()


async def test_those_who_wait_are_answered_after_a_restart(tmp_path: Path, reactor: Any) -> None:
    manners = manners_of(AssistantConfig(), SAGE)
    file = JournalFile(tmp_path / "journal.sqlite", reactor, lambda: 0.0, JournalConfig())
    answered: list[str] = []
    for life_number in range(4):
        await file.open()
        storage = await file.storage_of(SAGE.id, 60)
        if life_number == 0:
            for who in PEOPLE:
                question = Said(id=who.id, at=0.0, who=who, text=f"Sage, what is {who.name.lower()}?", to_me=True)
                await storage.journal.accept(question, classify(question, manners))
        life = still(Registry(WORLD_TOOLS), brain, storage=storage)
        if life_number < len(PEOPLE):
            assert await react(life.context) == Answered(("say",))
            answered.append(last_asked(life.model.asked[-1]))
        else:
            assert await storage.journal.pending() == ()
        await file.close()
        file = JournalFile(tmp_path / "journal.sqlite", reactor, lambda: 0.0, JournalConfig())
    assert answered == [f"{who.name}, {who.name.lower()} is old." for who in PEOPLE]


async def test_a_failure_settles_nobodys_question() -> None:
    async with living([HttpError(500)], {"join_seconds": 0.001}) as life:
        people = await bodies(life)
        for name, body in people.items():
            await body.say(f"Sage, what is {name}?")
        await life.assistant.settled()
        assert isinstance(life.witness.outcomes[0], Failed)
        waiting = [heard.event.who.name for heard in await life.journal.pending() if heard.attention.addressed]
        assert waiting == ["Ann", "Bea", "Cid"]
