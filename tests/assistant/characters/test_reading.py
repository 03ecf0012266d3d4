"""Characters as their owners write them: one file, a folder with lore, or a card as it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mud_assistant.assistant.characters import CharacterError, character_folder, list_characters, read_character
from mud_assistant.assistant.characters.reading import everyday_topics
from mud_assistant.assistant.characters.written import character_of, lore_of_markdown, topics_of_toml
from tests.assistant.characters.cards import V2, as_json, packed, picture, text_chunk

SAGE = """
name = "Sage"
persona = "You keep the library."
speech = "In short, dry sentences."
greeting = ["Hush, {{user}}.", "You again."]

[[examples]]
heard = "Who are you?"
said = "{{char}}. I keep the books."

[[lore]]
title = "The vault"
keys = ["vault", "iron door"]
text = "The vault opens at new moon."
priority = 3

[lorebook]
scan_depth = 6
"""
LORE = """Notes of mine that are no lore.

# The old mill
keys: mill, old wheel
priority: 7
It is haunted.

    Really.

## Anna's dog
A hound named Bodo.
```
# no heading
```

# A chapter

### The war
constant: yes
It is over.
"""


def test_a_character_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "sage.toml").write_text(SAGE)
    sage = read_character(tmp_path, "sage")
    assert (sage.name, sage.greetings) == ("Sage", ("Hush, {{user}}.", "You again."))
    assert sage.front == "You keep the library.\nHow you talk: In short, dry sentences."
    assert sage.examples == (("Who are you?", "{{char}}. I keep the books."),)
    assert sage.lore.scan_depth == 6
    assert [(one.title, one.keys, one.priority) for one in sage.lore.entries] == [
        ("The vault", ("vault", "iron door"), 3)
    ]


def test_a_character_in_a_folder_with_lore(tmp_path: Path) -> None:
    lore = tmp_path / "sage" / "lore"
    lore.mkdir(parents=True)
    (tmp_path / "sage" / "character.toml").write_text(SAGE)
    (lore / "a.md").write_text(LORE)
    (lore / "b.toml").write_text('[[lore]]\ntitle = "Inn"\ntext = "It is warm."\n')
    (lore / "notes.txt").write_text("no lore")
    entries = read_character(tmp_path, "sage").lore.entries
    assert [entry.title for entry in entries] == ["The vault", "The old mill", "Anna's dog", "The war", "Inn"]
    assert entries[1].keys == ("mill", "old wheel")
    assert (entries[1].priority, entries[1].text) == (7, "It is haunted.\n\n    Really.")
    assert entries[2].keys == ("Anna's dog",)
    assert "# no heading" in entries[2].text
    assert (entries[3].constant, entries[3].keys) == (True, ())


@pytest.mark.parametrize(
    ("file", "content"), [("wren.json", as_json(V2)), ("wren.png", picture(text_chunk("chara", packed(V2))))]
)
def test_a_card_is_a_character_as_it_is(file: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(content)
    assert read_character(tmp_path, "wren").lore.entries[0].keys == ("bell", "old bronze")
    assert list_characters(tmp_path) == ["wren"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("persona = ", "no TOML: "),
        ('persna = "x"', "persna: there is no such field; did you mean persona?"),
        ('hobby = "x"', "hobby: there is no such field; those there are: name, persona"),
        ('name = "a/b"', "name: give letters, digits"),
        ("persona = 7", "persona: give a text of at most 8000 characters"),
        ('[[lore]]\ntitle = "a"', r"lore\[1\].text is missing"),
        (
            '[[lore]]\ntitle = "a"\ntext = "b"\n[[lore]]\ntitle = "a"\ntext = "b"\nkeys = "c"',
            r"lore\[2\].keys: give a list",
        ),
        ('[[lore]]\ntitle = "a"\ntext = "b"\nlogic = "maybe"', r'lore\[1\].logic: give "any", "all"'),
        ('[[examples]]\nheard = "a"', r"examples\[1\].said is missing"),
        ("[lorebook]\nscan_depth = 0", "lorebook.scan_depth: give a number of lines from 1 to 50"),
        ('greeting = [""]', "greeting.*: give a text of 1 to 1200 characters"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_is_right(text: str, error: str) -> None:
    with pytest.raises(CharacterError, match=f"sage.toml.*{error}"):
        character_of(text, "sage.toml", "sage")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("no heading", "there is no heading"),
        ("# a\nconstant: perhaps\nb", "line 2: constant: write yes or no"),
        ("# a\npriority: high\nb", "line 2: priority: write a whole number"),
        ("x\n# a\nkeys: b", "line 2: text: give a text of 1"),
    ],
)
def test_a_mistake_in_markdown_is_told_with_its_line(text: str, error: str) -> None:
    with pytest.raises(CharacterError, match=f"lore.md.*{error}"):
        lore_of_markdown(text, "lore.md")


def test_the_character_its_lore_and_its_topics_on_the_page_are_taken() -> None:
    page = (Path(__file__).parents[3] / "docs" / "characters.md").read_text()
    setting, character, topics, everyday = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    sage = character_of(character, "the page", tomllib.loads(setting)["assistant"]["character"])
    assert sage.lore.entries[0].keys == ("vault", "iron door")
    (lore,) = re.findall(r"```markdown\n(.*?)```", page, re.DOTALL)
    assert [(one.title, one.constant) for one in lore_of_markdown(lore, "the page")] == [
        ("The old mill", False),
        ("The war", True),
    ]
    assert [topic.title for topic in topics_of_toml(topics, "the page")] == [
        "The mill",
        "What a night costs",
        "The heron",
        "The comb",
    ]
    assert everyday_topics().keys() >= {topic.title for topic in topics_of_toml(everyday, "the page")}


def test_a_character_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "sage.toml").write_text(SAGE)
    with pytest.raises(CharacterError, match=r"no character 'mira' in .*; those there are: .*sage"):
        read_character(tmp_path, "mira")
    for name in ("../sage", "/etc/passwd", ""):
        with pytest.raises(CharacterError, match="no name of a character"):
            read_character(tmp_path, name)


def test_a_broken_card_is_told_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "wren.png").write_bytes(b"no picture")
    with pytest.raises(CharacterError, match=r"wren\.png: this is no character card"):
        read_character(tmp_path, "wren")


def test_characters_stand_beside_the_settings_or_in_the_games_folder(tmp_path: Path) -> None:
    conf = tmp_path / "server" / "conf"
    conf.mkdir(parents=True)
    assert character_folder(tmp_path) == tmp_path / "characters"
    assert character_folder(conf) == tmp_path / "characters"
    (conf / "characters").mkdir()
    assert character_folder(conf) == conf / "characters"
