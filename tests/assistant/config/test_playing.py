"""A character stands where the settings say nothing; what the owner sets comes before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mud_assistant.assistant.characters import (
    CharacterError,
    LoreIndex,
    LoreScanner,
    import_card,
    preview_card,
    read_character,
)
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.playing import play, with_character
from mud_assistant.assistant.config.schema import AssistantConfig, Config
from mud_assistant.assistant.loop.prompt import system_message
from tests.assistant.characters.cards import ENTRY, V2, as_json

CARD = as_json(
    {
        **V2,
        "data": {
            **V2["data"],
            "description": "{{char}} likes {{random:tea,rum,ale,milk}} and {{roll:d1000}} bells.",
            "character_book": {"entries": [{**ENTRY, "constant": True}, ENTRY]},
        },
    }
)


def test_the_characters_persona_voice_and_greetings_are_played() -> None:
    wren = preview_card(as_json(V2)).character
    played = with_character(AssistantConfig(name="Mira"), wren)
    assert played.persona.startswith("Mira keeps the bell tower.")
    assert played.voice == {"Who rings?": "I do, at dusk.", "Why?": "Habit."}
    assert (played.greeting, played.more_greetings) == ("Mind the ropes, {name}.", ("You again, {name}?",))
    assert with_character(played, wren) == played


def test_what_is_set_comes_before_it() -> None:
    own = AssistantConfig(name="Mira", persona="You cook.", greeting="Soup?")
    played = with_character(own, preview_card(as_json(V2)).character)
    assert (played.persona, played.greeting, played.more_greetings) == ("You cook.", "Soup?", ())
    assert "Who rings?" in played.voice


def test_a_character_that_is_chosen_nearer_comes_before_what_was_set_further_out() -> None:
    game = {"assistant": {"persona": "You cook.", "greeting": "Soup?", "max_steps": 3}}
    mine = merged(game, {"assistant": {"character": "wren"}}, {"assistant": {"greeting": "Ding."}}).assistant
    assert mine.model_fields_set & {"persona", "greeting"} == {"greeting"}
    assert mine.max_steps == 3
    assert merged({}, game | {"assistant": {"character": "wren", "persona": "x"}}).assistant.persona == "x"


def test_a_character_gives_its_name_where_there_is_none(tmp_path: Path) -> None:
    import_card(preview_card(as_json(V2)), tmp_path / "characters")
    nameless = play(Config(assistant=AssistantConfig(character="wren")), tmp_path, name_too=True).assistant
    assert nameless.name == "Wren"
    assert nameless.persona.startswith("Wren keeps")
    named = play(Config(assistant=AssistantConfig(character="wren", name="Una")), tmp_path, name_too=True).assistant
    assert named.persona.startswith("Una keeps")
    with pytest.raises(CharacterError, match="those there are: baker, gardener, innkeeper, librarian, stranger, wren"):
        play(Config(assistant=AssistantConfig(character="ghost")), tmp_path)


def test_the_front_of_the_prompt_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "wren.json").write_bytes(CARD)

    def front() -> str:
        character = read_character(tmp_path, "wren")
        mine = with_character(AssistantConfig(name="Wren"), character)
        shown = system_message("Wren", mine.persona, {"say"}, mine.voice)
        return json.dumps(
            [str(shown), [entry.text for entry in LoreScanner(LoreIndex(character.lore)).activate([]).entries]]
        )

    fronts = {front() for _ in range(1000)}
    assert len(fronts) == 1
    assert ENTRY["content"] in fronts.pop()


@pytest.mark.parametrize("name", ["../sage", "a/b", ".sage", "sage.toml"])
def test_the_setting_names_no_path(name: str) -> None:
    with pytest.raises(ValueError, match="character"):
        AssistantConfig(character=name)
