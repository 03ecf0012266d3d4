import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.text.lenient import strip_actor_name, strip_speech_label


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("Hello", "Hello"),
        ("Sage: Hello", "Hello"),
        ("sage : Hello", "Hello"),
        ("**Sage:** Hello", "Hello"),
        ("**Sage**: Hello", "Hello"),
        ('"Hello there."', "Hello there."),
        ("“Hello”", "Hello"),
        ('Sage: "Hello"', "Hello"),
        ('Sage says, "Hello"', "Hello"),
        ('Sage says: "Hello"', "Hello"),
        ('Sage replied "Hello"', "Hello"),
        ("Sage: Sage: Hello", "Hello"),
        ("", ""),
    ],
)
def test_wrappings_are_taken_off(raw: str, words: str) -> None:
    assert strip_speech_label(raw, "Sage") == words


@pytest.mark.parametrize(
    "text",
    [
        '"Yes" or "no"?',
        'He said "no".',
        'Sage says "no" and goes.',
        "Sage says hello",
        "Sagebrush: a plant",
        "Mira: Hello",
        "Sage is a herb",
        "'Tis the season, they say'",
        '"unfinished',
        '"',
        "**Sage** is bold",
        "well, Sage: no",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert strip_speech_label(text, "Sage") == text


@pytest.mark.parametrize(
    ("raw", "act"),
    [
        ("smiles", "smiles"),
        ("Sage smiles", "smiles"),
        ("*smiles*", "smiles"),
        ("*Sage smiles warmly.*", "smiles warmly."),
        ("Sage", "Sage"),
        ("*waves* and *bows*", "*waves* and *bows*"),
        ("Sage's eyes shine", "Sage's eyes shine"),
    ],
)
def test_an_act_follows_the_name(raw: str, act: str) -> None:
    assert strip_actor_name(raw, "Sage") == act


def test_a_name_is_no_pattern() -> None:
    assert strip_speech_label("Mr. (X): hi", "Mr. (X)") == "hi"
    assert strip_speech_label("Mrs (X): hi", "Mr. (X)") == "Mrs (X): hi"
    assert strip_speech_label(": hi", "") == ": hi"


@given(st.text(st.sampled_from('Sage:*" says,“”hi\n')), st.sampled_from(["Sage", "", "S"]))
def test_unwrapping_twice_is_unwrapping_once(text: str, name: str) -> None:
    assert strip_speech_label(strip_speech_label(text, name), name) == strip_speech_label(text, name)
    assert strip_actor_name(strip_actor_name(text, name), name) == strip_actor_name(text, name)
