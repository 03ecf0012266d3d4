"""Each line to a character has an answer of its own or a reason, and an answer to a line long past says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.classify import classify
from mud_assistant.assistant.events.events import Emoted, Event, Gave, Paged, Said, Whispered
from mud_assistant.assistant.events.outcome import Answered, NothingToDo
from mud_assistant.assistant.runtime.build import manners_of
from mud_assistant.llm.testing import RecordedRequest, Reply, Step
from mud_assistant.tools import Principal, Registry
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from tests.assistant.living import ANN, SAGE, Witness, living, reactor
from tests.assistant.refusing import BEA, Calls, Still, still
from tests.crash.lives import lives

DAN = Principal("player:4", "Dan")
UP = "They lead up."


def brain_that_takes(seconds: float) -> tuple[list[Still], Any]:
    """A model that takes this long, in the life that is put into the list."""
    lives_of_it: list[Still] = []

    def brain(_: str) -> Calls:
        clock = lives_of_it[0].context.process.clock
        assert isinstance(clock, Clock)
        clock.advance(seconds)
        return [("say", {"text": UP})]

    return lives_of_it, brain


def life_of(brain: Any, **settings: Any) -> tuple[Still, Witness]:
    """A life at noon, and one who hears it."""
    life, ears = still(Registry([*WORLD_TOOLS, *ACCOUNT_TOOLS]), brain, settings=settings), Witness()
    life.world.add(DAN, listener=ears)
    advance(life, 1000)
    return life, ears


def advance(life: Still, seconds: float) -> None:
    assert isinstance(life.context.process.clock, Clock)
    life.context.process.clock.advance(seconds)


def said(text: str, at: float = 1000.0, who: Principal = ANN) -> Any:
    return lambda id_: Said(id=id_, at=at, who=who, text=text, to_me=True)


@pytest.mark.parametrize("model", [{"asking": "plain"}, {"asking": "tools"}])
async def test_two_lines_of_one_person_have_two_answers(model: dict[str, Any]) -> None:
    def answer(request: RecordedRequest) -> Step:
        asked = str(request.messages[-1]["content"])
        return Reply(text="It is a mill." if "map" in asked else "They lead up." if "stairs" in asked else "What?")

    async with living(answer, model=model) as life:
        await life.ann.say("Sage, what is on the map?")
        await life.ann.say("Sage, where do the stairs lead?")
        await life.assistant.settled()
        assert life.witness.heard == ["Sage: It is a mill.", "Sage: They lead up."]


async def test_lines_said_while_the_model_thinks_have_answers_of_their_own() -> None:
    async with living(lambda _: Reply(text=f"Answer {len(life.fake.chats)}.")) as life:
        for line in ("Sage, what is on the map?", "Sage, where do the stairs lead?", "Sage, who is the miller?"):
            await life.ann.say(line)
        await life.assistant.settled()
        assert life.witness.heard == [f"Sage: Answer {number}." for number in (1, 2, 3)]


def test_an_answer_to_an_old_line_says_which_and_one_to_a_new_line_does_not() -> None:
    life, ears = life_of(lambda _: [("say", {"text": UP})])
    life.hear(said("Sage, where do the stairs lead?"))
    life.runs()
    assert ears.heard == [f"Sage: {UP}"]
    life.hear(said("Sage, where do the stairs lead?"))
    advance(life, 61)
    life.runs()
    assert ears.heard[1:] == [f'Sage: Ann, a while ago you said: "Sage, where do the stairs lead?" {UP}']


def test_an_answer_that_took_long_says_what_it_answers() -> None:
    lives_of_it, brain = brain_that_takes(70)
    life, ears = life_of(brain)
    lives_of_it.append(life)
    life.hear(said("Sage, where do the stairs lead?"))
    life.runs()
    assert ears.heard == [f'Sage: Ann, a while ago you said: "Sage, where do the stairs lead?" {UP}']


def test_the_words_and_the_age_are_settings_and_a_long_line_is_cut() -> None:
    words = {"late_after_seconds": 5, "late_words": "Zu {line} ({name}):"}
    life, ears = life_of(lambda _: [("say", {"text": UP})], **words)
    life.hear(said("Sage, tell me " + "all " * 99 + 'of "it"'))
    advance(life, 6)
    life.runs()
    [heard] = ears.heard
    assert heard.startswith("Sage: Zu Sage, tell me all all")
    assert heard.endswith(f"(Ann): {UP}")
    assert len(heard) < 130


@pytest.mark.parametrize(
    "event",
    [
        said("good night, see you tomorrow!"),
        said("Farewell, Sage."),
        said("Good morning Sage!"),
        said("Tschüss Sage!"),
        lambda id_: Emoted(id=id_, at=1000.0, who=ANN, text="waves at Sage."),
        lambda id_: Gave(id=id_, at=1000.0, who=ANN, thing="map"),
        said("Sage, where do the stairs lead?", who=Principal("player:9", "Zoe")),  # who is not there any more
    ],
)
def test_what_wants_no_late_answer_gets_none_and_the_reason_is_kept(event: Any) -> None:
    life, ears = life_of(lambda _: [("say", {"text": UP})])
    life.hear(event)
    advance(life, 398)
    [outcome] = life.runs()
    assert isinstance(outcome, NothingToDo)
    assert outcome.cause.startswith("it came 398 s ago")
    assert "Ann" not in outcome.cause
    assert not ears.heard
    assert not life.model.asked


@pytest.mark.parametrize(("kind", "tool"), [(Whispered, "whisper"), (Paged, "page")])
def test_an_old_line_in_private_is_answered_there_and_no_name_is_needed(kind: Any, tool: str) -> None:
    life, ears = life_of(lambda _: [(tool, {"target": "Dan", "text": UP})])
    life.hear(lambda id_: kind(id=id_, at=1000.0, who=DAN, text="Where do the stairs lead?"))
    advance(life, 100)
    assert life.runs() == [Answered((tool,))]
    assert ears.heard == [f'Sage {tool}s: A while ago you said: "Where do the stairs lead?" {UP}']


def test_an_old_line_is_named_where_its_answer_is_heard_and_not_in_a_call_that_is_refused() -> None:
    def brain(body: str) -> Calls:
        if "tool_call_id" in body:  # it was told why not
            return [("whisper", {"target": "Dan", "text": UP})]
        return [("whisper", {"target": "Ann", "text": UP}), ("emote", {"text": "points up"})]

    life, ears = life_of(brain)
    life.hear(lambda id_: Whispered(id=id_, at=1000.0, who=DAN, text="Where do the stairs lead?"))
    advance(life, 100)
    life.runs()
    assert ears.heard == [f'Sage whispers: A while ago you said: "Where do the stairs lead?" {UP}']


def test_an_old_line_is_named_to_who_said_it_and_not_to_another() -> None:
    life, ears = life_of(lambda _: [("whisper", {"target": "Dan", "text": UP}), ("say", {"text": UP})])
    life.hear(said("Sage, whisper to Dan where the stairs lead, and say it"))
    advance(life, 100)
    life.runs()
    assert ears.heard == [
        f"Sage whispers: {UP}",
        f'Sage: Ann, a while ago you said: "Sage, whisper to Dan where the stairs lead, and say it" {UP}',
    ]


def test_of_several_who_wait_another_than_the_last_comes_next() -> None:
    life, ears = life_of(lambda body: [("say", {"text": body.rpartition("what is ")[2][:5]})])
    for who, number in ((ANN, 1), (ANN, 2), (ANN, 3), (BEA, 4)):
        life.hear(said(f"Sage, what is line{number}?", who=who))
    life.runs()
    assert ears.heard == [f"Sage: line{number}" for number in (1, 4, 2, 3)]


async def _accept(journal: Any, *events: Event) -> None:
    for event in events:
        await journal.accept(event, classify(event, manners_of(AssistantConfig(), SAGE)))


async def test_over_a_restart_a_farewell_is_not_answered_and_a_question_says_what_it_was(tmp_path: Path) -> None:
    at = reactor.seconds() - 398
    farewell = Said(id="e1", at=at, who=ANN, text="good night, see you tomorrow!", to_me=True)
    question = replace(farewell, id="e2", text="Sage, where do the stairs lead?")
    async with lives(tmp_path / "j.sqlite", lambda _: Reply(text=UP)) as told:
        async with told.one() as (_, journal):
            await _accept(journal, farewell)
            await journal.open_run(await journal.pending())  # it was taken up, and the process died
            await _accept(journal, question)
        async with told.one() as (assistant, journal):
            assistant.start()
            await assistant.settled()
            assert await journal.pending() == ()
        assert set(told.witness.heard) == {f'Sage: Ann, a while ago you said: "Sage, where do the stairs lead?" {UP}'}
        reasons = [outcome.cause for outcome in told.witness.outcomes if isinstance(outcome, NothingToDo)]
        assert "wants no answer any more" in reasons[0]


def overheard(text: str) -> Any:
    return lambda id_: Said(id=id_, at=1000.0, who=ANN, text=text)


def test_lines_that_were_not_meant_for_it_have_one_answer_and_none_when_they_are_old() -> None:
    life, ears = life_of(lambda _: [("say", {"text": UP})], room_speech="trigger")
    for text in ("What a day.", "The stairs are steep."):
        life.hear(overheard(text))
    life.runs()
    assert ears.heard == [f"Sage: {UP}"]
    life.hear(overheard("Where do the stairs lead?"))
    advance(life, 61)
    life.runs()
    assert ears.heard == [f"Sage: {UP}"]
