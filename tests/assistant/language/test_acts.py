"""Which deeds a line asks for."""

import pytest

from mud_assistant.assistant.language.acts import Deed, asked_deeds, wants_words
from mud_assistant.assistant.language.attend import View

JETTY = View(
    "Marlo",
    "You are the ferryman.",
    "The Stone Jetty",
    "A grey jetty.",
    (("north", "Harbour Street"), ("down", "The Coal Cellar")),
    ("rope", "barrel", "star chart"),
    ("lamp",),
    ("Petra", "Nell"),
)


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("Marlo, please go north.", "move", {"direction": "north"}),
        ("Come down into the cellar, Marlo.", "move", {"direction": "down"}),
        ("climb down the ladder", "move", {"direction": "down"}),
        ("Let us go into the coal cellar!", "move", {"direction": "down"}),
        ("Take me to Harbour Street, please", "move", {"direction": "north"}),
        ("Marlo, n", "move", {"direction": "north"}),
        ("Brenna and Marlo, please take the rope.", "take", {"thing": "rope"}),
        ("Would you pick up the chart, Marlo?", "take", {"thing": "star chart"}),
        ("Put the lamp down.", "drop", {"thing": "lamp"}),
        ("Could you give me the lamp?", "give", {"thing": "lamp", "person": "Ann"}),
        ("Hand the lamp to Nell, please.", "give", {"thing": "lamp", "person": "Nell"}),
        ("look at the star chart and tell me what is drawn in silver", "inspect", {"target": "star chart"}),
        ("Please wave at me, Marlo.", "emote", {"text": "waves at Ann."}),
        ("Bow to Nell!", "emote", {"text": "bows to Nell."}),
        ("Follow me, Marlo!", "follow", {"person": "Ann"}),
        ("Stay here.", "stay", {}),
        ("Go home now, Marlo.", "home", {}),
    ],
)
def test_a_plain_order_is_one_deed(line: str, tool: str, arguments: dict[str, str]) -> None:
    assert asked_deeds(line, "Ann", JETTY) == [Deed(tool, arguments)]


def test_it_is_the_thing_of_the_clause_before() -> None:
    assert asked_deeds("look at the rope and give it to Petra", "Ann", JETTY) == [
        Deed("inspect", {"target": "rope"}),
        Deed("give", {"thing": "rope", "person": "Petra"}),
    ]


def test_it_may_be_the_thing_of_a_line_before() -> None:
    given = [Deed("give", {"thing": "rope", "person": "Ann"})]
    assert asked_deeds("Now give it to me, please.", "Ann", JETTY, "rope") == given
    assert asked_deeds("Now give it to me, please.", "Ann", JETTY) == []


@pytest.mark.parametrize("line", ["Give me the rope.", "pick up the rope and give it to me", "Fetch me the rope."])
def test_giving_is_one_deed_because_the_tool_takes_first(line: str) -> None:
    assert asked_deeds(line, "Ann", JETTY) == [Deed("give", {"thing": "rope", "person": "Ann"})]


@pytest.mark.parametrize(
    "line",
    [
        "Don't take the rope!",
        "What happens if I go north?",
        "I took the rope.",
        "I must go home now.",
        "Have you seen the rope?",
        "Do you like to go north?",
        "Will you go fishing with me?",
        "Take the crown.",
        "Go west, Marlo.",
        "The rope is black.",
        "Which way is north?",
    ],
)
def test_talk_is_no_order(line: str) -> None:
    assert asked_deeds(line, "Ann", JETTY) == []


def test_an_order_may_ask_for_words_too() -> None:
    assert wants_words("look at the star chart and tell me what is drawn in silver")
    assert not wants_words("Marlo, please go north.")
