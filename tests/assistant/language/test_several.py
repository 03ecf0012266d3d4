"""Each of several things that one line asks for later."""

import pytest

from mud_assistant.assistant.language.later.listed_goals import listed
from mud_assistant.assistant.language.several import MOST_CHARS, requests_in


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("wake me at dawn, and wait here until I am back", ["wake you at dawn", "wait here until you are back"]),
        ("remind me at noon to wash and at dusk to eat", ["remind you at noon: wash", "remind you at dusk: eat"]),
        ("tell me when Ann comes and when Bea comes", ["tell you when Ann comes", "tell you when Bea comes"]),
        ("Remind me at noon to wash. Tell Ann when she comes that I am out.",
         ["remind you at noon: wash", "tell Ann when they come: I am out"]),
        ("remind me at noon of the bread, oh and let me know when Ann is here",
         ["remind you at noon: the bread", "tell you when Ann comes"]),
        # What may belong to the message stays in it.
        ("tell Ann when she comes to light the fire and meet me at the mill at noon",
         ["tell Ann when they come: light the fire and meet me at the mill at noon"]),
        ("remind me at noon to wash and eat", ["remind you at noon: wash and eat"]),
        # Two are all that one person may ask for.
        ("remind me at noon to wash and at dusk to eat and at dawn to rise",
         ["remind you at noon: wash", "remind you at dusk: eat"]),
        ("how are you, and how is Ann?", []),
    ],
)  # fmt: skip
def test_each_of_what_a_line_asks_for(line: str, texts: list[str]) -> None:
    assert [listed(asked) for asked in requests_in(line)] == texts


def test_a_speech_is_not_read_for_requests() -> None:
    asked = "remind me at noon to wash."
    assert requests_in(f"{asked} {'What a day. ' * 6}")
    assert requests_in(f"{asked} {'What a day. ' * 40}"[: MOST_CHARS + 1]) == ()
