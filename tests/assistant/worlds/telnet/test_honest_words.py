"""A guest never tells anybody that a person speaks, whatever its model says."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.worlds.telnet.typed_commands import honest

TRUTH = "(I am an AI character, not a person.)"


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("I am a person.", TRUTH),
        ("Hello, Anna! I'm a real human being. Sit down.", f"Hello, Anna! {TRUTH} Sit down."),
        ("I am not a machine, I keep the library.", TRUTH),
        ("I am certainly not a bot!", TRUTH),
        ("Of course I\u2019m human. I am a human.", TRUTH),
        ("I am just another player here", TRUTH),
        ("I am not a person.", "I am not a person."),
        ("I am old, and a person asked me that.", "I am old, and a person asked me that."),
        ("The miller is a person.", "The miller is a person."),
        ("I am a machine.", "I am a machine."),
    ],
)  # fmt: skip
def test_a_claim_to_be_a_person_is_not_said(said: str, typed: str) -> None:
    assert honest(said) == typed
