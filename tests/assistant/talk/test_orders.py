"""What a line asks a character on a small model for, and what is done and said of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mud_assistant.assistant.language.attend import View
from mud_assistant.assistant.language.orders import claims_deed, is_talk, possible_deeds
from mud_assistant.assistant.worlds.embedded.place_file import place_of
from mud_assistant.llm.testing import RecordedRequest, Reply, Step
from mud_assistant.tools import Kind, Principal, Registry
from mud_assistant.tools.verbs import ALL_WORLD_TOOLS
from tests.assistant.living import Life, living

PLAIN = {"asking": "plain"}
YARD: dict[str, Any] = {
    "rooms": [
        {
            "key": "yard",
            "name": "The Yard",
            "description": "A cobbled yard.",
            "exits": {"east": "barn"},
            "things": {
                "rope": "A long rope.",
                "chest": "It is locked.",
                "box": "Made of pine.",
                "stone": "It is heavy.",
                "sign": "Somebody wrote on it: 'No dogs after six. - Ann'",
                "lamp": "A brass lamp.",
                "jug": "Full of milk.",
            },
            "fixed": ["stone"],
        },
        {"key": "barn", "name": "The Barn", "exits": {"west": "yard"}},
    ]
}
VIEW = View("Sage", "", "The Yard", ways=(("east", "The Barn"),), things=("rope", "chest"), people=("Ann", "Ben"))


class Scripted:
    """A model that chooses these words, one after the other, and says the same whenever it is asked for words."""

    def __init__(self, *chosen: str, says: str = "Well met.") -> None:
        self.chosen = list(chosen)
        self.says = says
        self.asked: list[str] = []

    def __call__(self, request: RecordedRequest) -> Step:
        text = str(request.messages[0]["content"])
        if text.startswith(("Somebody in a game", "Translate the line")):
            self.asked.append(str(request.messages[-1]["content"]))
            return Reply(text=self.chosen.pop(0))
        return Reply(text=self.says)


def alive(script: Scripted, **more: Any) -> Any:
    registry = Registry(ALL_WORLD_TOOLS)
    return living(script, model=PLAIN, registry=registry, place=place_of(YARD, "yard").place, **more)


def lying(life: Life) -> set[str]:
    return {thing.name for thing in life.world.things["yard"]}


@pytest.mark.parametrize(
    ("line", "chosen", "heard"),
    [
        ("Sage, mind if I borrow the rope?", ["give"], "Sage gives you the rope"),
        ("Sage, gib mir das Seil.", ["give", "Give me the rope."], "Sage gives you the rope"),
        ("Sage, geh in die Scheune.", ["go", "Go into the barn."], "Sage leaves east"),
        ("Sage, kiss me then, my dear.", ["act"], "Sage kisses Ann on the cheek."),
        ("Sage, umarme mich bitte.", ["act", "Hug me, please."], "Sage hugs Ann."),
        ("Sage, shall we have a look at the barn?", ["go"], "Sage leaves east"),
        ("Sage, open the box.", [], "Sage opens the box."),
        ("Sage, light the lamp, it gets dark.", ["light"], "Sage lights the lamp."),
        ("Sage, pour from the jug, will you, I am thirsty.", ["pour"], "Sage pours from the jug."),
        ("Sage, read the sign aloud.", ["read"], "Sage: No dogs after six. - Ann"),
    ],
)
async def test_an_order_is_obeyed(line: str, chosen: list[str], heard: str) -> None:
    script = Scripted(*chosen)
    async with alive(script) as life:
        await life.say(line)
        assert heard in life.witness.heard
        assert not script.chosen


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Sage, open the chest.", "The chest is locked."),
        ("Sage, open the rope.", "The rope cannot be opened."),
        ("Sage, light the jug.", "The jug cannot be lit."),
        ("Sage, take the stone.", "The stone cannot be taken."),
        ("Sage, give me the stone.", "The stone cannot be taken."),
    ],
)
async def test_what_cannot_be_done_is_said_with_the_games_own_reason(line: str, said: str) -> None:
    async with alive(Scripted()) as life:
        before = lying(life)
        await life.say(line)
        assert life.witness.heard == [f"Sage: {said}"]
        assert lying(life) == before


async def test_what_is_put_away_lies_there() -> None:
    async with alive(Scripted()) as life:
        await life.say("Sage, take the lamp.")
        await life.say("Sage, put the lamp in the chest.")
        assert "Sage: The chest is locked." in life.witness.heard
        await life.say("Sage, put the lamp on the chest.")
        assert "Sage puts the lamp on the chest." in life.witness.heard
        assert "lamp" in lying(life)


async def test_a_command_that_the_game_keeps_from_players_is_no_deed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with alive(Scripted()) as life:
        command = await life.home.resolve("create exit")

        async def resolve(_: str) -> Any:
            return command

        monkeypatch.setattr(life.home, "resolve", resolve)
        await life.say("Sage, open the box.")
        assert life.witness.heard == ["Sage: I cannot open the box."]
        assert not life.assistant.context.tools.approvals.pending()


@pytest.mark.parametrize("verb", ["open the box", "light the lamp", "close the box", "take the rope"])
async def test_a_guest_has_nothing_done(verb: str) -> None:
    async with alive(Scripted(), ann=Principal("guest:1", "Ann", Kind.PLAYER, 0)) as life:
        before = lying(life)
        await life.say(f"Sage, {verb}.")
        assert lying(life) == before
        assert not [line for line in life.witness.heard if not line.startswith("Sage: ")]


async def test_nothing_is_done_where_commands_are_not_granted() -> None:
    async with alive(Scripted(says="I open the box."), settings={"tools": ["say", "take"]}) as life:
        await life.say("Sage, open the box.")
        assert not [line for line in life.witness.heard if "open" in line]


@pytest.mark.parametrize(
    "line",
    [
        "Hold your tongue about the rope.",
        "What would you take for the rope?",
        "Ben took the rope to the barn.",
        "I should take the rope to the barn.",
        "If you take the rope, I take the chest.",
        "Do you ever go to the barn?",
        "Don't open the chest.",
        "The barn is old. Ben said so.",
        "Ich nehme das Seil mit.",
        "Good morning, Sage.",
    ],
)
def test_plain_talk_is_asked_of_no_model(line: str) -> None:
    assert is_talk(line, VIEW)
    assert not possible_deeds(line, "Ann", VIEW)


def test_only_what_is_possible_here_may_be_chosen() -> None:
    assert {"take", "give", "open"} <= possible_deeds("The rope, if you please.", "Ann", VIEW).keys()
    assert not {"drop", "go", "put", "read"} & possible_deeds("The rope, if you please.", "Ann", VIEW).keys()
    assert possible_deeds("Ben would like the rope.", "Ann", VIEW)["give"].arguments == {
        "thing": "rope",
        "person": "Ben",
    }


@pytest.mark.parametrize("sentence", ["I open the chest.", "Here is your beer.", "I have poured it.", "There you go."])
def test_a_claim_is_one_only_where_a_deed_was_asked_for(sentence: str) -> None:
    assert claims_deed(sentence, "A beer, please, and open the chest.")
    assert not claims_deed(sentence, "What do you do all day?")
    assert not claims_deed("I cannot open it.", "Open the chest.")


async def test_the_question_begins_the_same_for_every_line() -> None:
    script = Scripted("talk", "talk")
    async with alive(script) as life:
        await life.say("Sage, the rope if you please.")
        await life.say("Sage, off to the barn with you.")
        fronts = [
            json.dumps(request.messages[:-1])
            for request in life.fake.requests
            if str(request.messages[0]["content"]).startswith("Somebody in a game")
        ]
    assert len(fronts) == 2
    assert len(set(fronts)) == 1
