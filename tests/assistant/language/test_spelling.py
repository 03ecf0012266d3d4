"""What people type in a hurry, written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.language.languages import write_out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("what u got in here", "What you got in here?"),
        ("gimme the loaf pls, im starving", "Give me the loaf please, I'm starving."),
        ("brother whats ur elephant eating lol", "Brother what's your elephant eating?"),
        ("where r we", "Where are we?"),
        ("i still owe twelve coins to bertrand", "I still owe twelve coins to bertrand."),
        ("ok. what ship does it mention at the end", "Ok. what ship does it mention at the end?"),
        ("zahir is a fool", "Zahir is a fool."),
        ("do the dishes", "Do the dishes."),
        ("Sage, can you dance", "Sage, can you dance?"),
        ("Good morning, Sage!", "Good morning, Sage!"),
        ("I know what you did", "I know what you did."),
        ("dont touch it", "Don't touch it."),
    ],
)
def test_short_forms_are_written_out_and_questions_get_their_mark(typed: str, meant: str) -> None:
    assert write_out(typed) == meant


@pytest.mark.parametrize("line", ["Ich bin im Haus und du", "je suis ici, et tu es ou", "????", "lol", ""])
def test_other_languages_and_noises_stay_as_they_are(line: str) -> None:
    assert write_out(line) == line


@given(st.text(max_size=200))
def test_nothing_breaks_it_and_twice_is_once(line: str) -> None:
    once = write_out(line)
    assert write_out(once) == once
