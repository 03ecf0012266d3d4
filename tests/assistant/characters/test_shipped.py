"""The characters that ship with the demo game: what each file holds, and that it can be used as it is."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.characters import SHIPPED, read_character
from mud_assistant.assistant.characters.character import Character, Topic
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET

FILES = sorted(SHIPPED.glob("*.toml"))
#: Those who have topics.
SPEAKING = [path for path in FILES if "[[topic]]" in path.read_text(encoding="utf-8")]
#: How a price is written: so much for one of these.
PRICED = re.compile(r"\b(a penny|\w+ pennies) a (bowl|mug|night|loaf|jar|sack|cake|week)\b")
#: The names that only those who keep the secret know.
SECRET = ("agnes", "pell", "arkell")
#: What leads from one of them to the next, in the order in which it can be found out: who says it, and words of it.
TRAIL = (
    ("librarian", "the card says only v"),
    ("innkeeper", "they said, any room but three"),
    ("innkeeper", "count the buttons of everybody you meet"),
    ("baker", "seven and one is eight"),
    ("innkeeper", "something on a string about the neck"),
    ("baker", "a square thing in the inside pocket"),
    ("stranger", "have read one nineteen times"),
    ("stranger", "it fits one thing in the world"),
    ("gardener", "i wrote one once, on good paper"),
    ("baker", "he bought the best paper in the shop"),
    ("librarian", "forty-one letters"),
)
WORD = re.compile(r"[^\W\d_]{6,}")

every = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
speaking = pytest.mark.parametrize("path", SPEAKING, ids=lambda path: path.stem)


def written(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read(path: Path) -> Character:
    return read_character(SHIPPED, path.stem)


def spoken(topic: Topic) -> list[str]:
    """Everything that is ever said on a topic."""
    return [text for text in (*topic.says, topic.solved, topic.reveal) if text]


def words(texts: list[str]) -> set[str]:
    return {word.casefold() for text in texts for word in WORD.findall(text)}


def open_to_all(character: Character) -> list[str]:
    """What a character may tell without a topic: everything but the private lore."""
    return [
        character.persona,
        character.speech,
        *character.greetings,
        *chain.from_iterable(character.examples),
        *(entry.text for entry in character.lore.entries if not entry.private),
    ]


def test_five_characters_ship() -> None:
    assert [path.stem for path in FILES] == ["baker", "gardener", "innkeeper", "librarian", "stranger"]
    assert SPEAKING == FILES


@every
def test_a_character_can_be_an_assistants(path: Path) -> None:
    told = written(path)
    voice = {example["heard"]: example["said"] for example in told["examples"]}
    AssistantConfig(name=told["name"], persona=told["persona"], voice=voice, greeting=told["greeting"][0])
    assert len(voice) == len(told["examples"]) in range(10, 13)
    assert len(told["persona"]) <= 900
    assert len(set(told["greeting"])) == len(told["greeting"]) in range(3, 6)
    assert all(len(greeting) <= 300 for greeting in told["greeting"])


@every
def test_who_walks_about_greets_with_no_thing_of_one_place(path: Path) -> None:
    told = written(path)
    assert len({entry["place"] for entry in told["day"] if "place" in entry}) > 1
    things = {thing.name for room in HAMLET.rooms for thing in room.things}
    here = {name.split()[-1] for name in things} | {"door", "gate", "step", "stew", "dough", "beans", "fire", "chair"}
    for greeting in told["greeting"]:
        assert not here & set(re.findall(r"[a-z]+", greeting.casefold())), greeting


@every
def test_lore_is_short_and_can_be_found(path: Path) -> None:
    lore = written(path)["lore"]
    assert len(lore) in range(8, 21)
    assert len({entry["title"] for entry in lore}) == len(lore)
    for entry in lore:
        assert len(entry["text"].split()) in range(12, 66), entry["title"]
        assert all(key == key.strip() != "" for key in entry["keys"]), entry["title"]
        assert entry["keys"], entry["title"]


@speaking
def test_there_is_something_to_say_about_most_of_what_a_player_asks(path: Path) -> None:
    topics = read(path).topics
    assert len(topics) >= 40
    assert len({topic.title for topic in topics}) == len(topics)
    assert sum(topic.parts for topic in topics) >= 2
    assert any(topic.answers and topic.solved and topic.reveal for topic in topics)
    for topic in topics:
        assert len(topic.says) >= 2, topic.title
        assert len(topic.asks) in range(3, 10), topic.title
        assert not topic.parts or len(topic.says) in range(3, 7), topic.title


@speaking
def test_nothing_is_said_twice_and_no_question_belongs_to_two_topics(path: Path) -> None:
    topics = read(path).topics
    said = [text for topic in topics for text in spoken(topic)]
    assert sorted(set(said)) == sorted(said)
    others: set[str] = set()
    for topic in topics:
        asked = {text.casefold().rstrip("?.!") for text in (*topic.asks, *topic.keys)}
        both = asked & others
        assert not both or (topic.parts and all("stor" in text or "tale" in text for text in both)), topic.title
        others |= asked


@speaking
def test_an_answer_is_short_and_a_part_of_a_story_longer(path: Path) -> None:
    for topic in read(path).topics:
        longest = 75 if topic.parts else 45
        for text in spoken(topic):
            assert len(text.split()) in range(3, longest + 1), text
            assert text[-1] in ".?!", text


@speaking
def test_a_gesture_is_an_emote_without_the_name(path: Path) -> None:
    for topic in read(path).topics:
        assert len(topic.gestures) in {0, 1, len(topic.says)}, topic.title
        for gesture in topic.gestures:
            assert re.fullmatch(r"[a-z]+s\b.*\.", gesture), gesture


@speaking
def test_no_topic_gives_away_what_is_private(path: Path) -> None:
    character = read(path)
    private = [entry.text for entry in character.lore.entries if entry.private]
    public = words([text for each in FILES for text in open_to_all(read(each))])
    said = words([text for topic in character.topics for text in (*spoken(topic), *topic.asks, *topic.gestures)])
    assert private
    assert said & (words(private) - public) == set()
    assert not any(name in text.casefold().split() for name in SECRET for text in (*said, *open_to_all(character)))


def test_prices_are_the_same_whoever_names_them() -> None:
    named: dict[str, dict[str, set[str]]] = {}
    for path in FILES:
        character = read(path)
        texts = [*open_to_all(character), *(text for topic in character.topics for text in spoken(topic))]
        for price, what in (found.groups() for text in texts for found in PRICED.finditer(text.casefold())):
            named.setdefault(what, {}).setdefault(price, set()).add(character.name)
    assert all(len(prices) == 1 for prices in named.values()), named
    assert {"bowl", "mug", "night", "loaf", "jar", "sack"} <= named.keys()
    assert {"Oda", "Mira", "Tom"} <= set().union(*(who for prices in named.values() for who in prices.values()))


def test_everybody_can_be_asked_about_everybody_else() -> None:
    names = {read(path).name for path in SPEAKING}
    for path in SPEAKING:
        character = read(path)
        asked = " ".join(ask for topic in character.topics for ask in topic.asks)
        for name in names - {character.name, "Sage"}:
            assert f"Who is {name}?" in asked, path.stem
        assert path.stem == "librarian" or "Who is the librarian?" in asked


def test_every_secret_of_the_stranger_can_be_asked_for_with_a_thing_that_stands_elsewhere() -> None:
    keys = {key.casefold() for entry in written(SHIPPED / "stranger.toml")["lore"] for key in entry["keys"]}
    others = " ".join(
        entry["text"] for path in FILES if path.stem != "stranger" for entry in written(path)["lore"]
    ).casefold()
    for clue in ("brass button", "keeping of bees", "mail chest", "tom", "agnes pell", "room three"):
        assert clue in keys
        assert clue in others


def test_the_secret_can_be_found_out_by_talking_with_all_five() -> None:
    said = {
        path.stem: " ".join(text for topic in read(path).topics for text in spoken(topic)).casefold() for path in FILES
    }
    assert [clue for who, clue in TRAIL if clue not in said[who]] == []


def test_nobody_calls_the_librarian_by_a_name_which_a_game_may_change() -> None:
    for path in FILES:
        character = read(path)
        texts = [*open_to_all(character), *(text for topic in character.topics for text in spoken(topic))]
        assert not any("Sage" in text.replace("Sage for the throat", "").replace("Sage tea", "") for text in texts)
